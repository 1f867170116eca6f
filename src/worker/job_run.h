// What a job's items have in common when they are run: the command with its placeholders, the program, what slots
// share.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/resources.h"
#include "base/result.h"
#include "base/uuid.h"
#include "ports/runner.h"
#include "wire/definition.h"
#include "worker/command_template.h"

namespace drover {

struct JobRun {
  CommandTemplate command;
  std::string program;  // looked up once, if it is the same for every item
  SlotSetup setup;
};

/// An error: none of its items can be started here. `settings` are variables of ours for its attempts. `container`: of
/// a job whose items run in one, with its image.
Result<JobRun> make_job_run(const Definition& definition, const std::string& uuid,
                            std::map<std::string, std::string> settings = {},
                            std::shared_ptr<const ContainerPlan> container = nullptr);

/// An item is held to what it asks for: one that is tried again may ask for more than its job did at first.
ItemLimits held_to(ItemLimits limits, const Resources& ask);

/// What an item's command finds of the objects that it reads and writes.
struct StagedItem {
  std::string text;                      // the item as its command sees it; empty: as it is
  std::vector<std::string> environment;  // "NAME=value"
};

/// The attempt, filled in for its item.
Result<Task> make_task(const JobRun& job, Token token, AttemptNumber attempt, const std::string& item,
                       const StagedItem& staged = {});

}  // namespace drover
