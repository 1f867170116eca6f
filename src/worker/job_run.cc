#include "worker/job_run.h"

#include "base/text.h"
#include "worker/program.h"

namespace drover {
namespace {

constexpr std::size_t kLongestVariable = (std::size_t{128} << 10) - sizeof "DROVER_ITEM=";

}  // namespace

Result<JobRun> make_job_run(const Definition& definition, const std::string& uuid,
                            std::map<std::string, std::string> settings) {
  auto command = CommandTemplate::parse(definition);
  if (!command) return pass(command);
  auto program = find_program(definition);
  if (!program) return pass(program);
  settings["DROVER_JOB_ID"] = uuid;
  return JobRun{std::move(*command),
                std::move(*program),
                {attempt_environment(definition, settings), definition.workdir, -1, definition.limits}};
}

Result<Task> make_task(const JobRun& job, Token token, AttemptNumber attempt, const std::string& item) {
  auto arguments = job.command.render(item, token.item);
  if (!arguments) return pass(arguments);
  Task task{.token = token,
            .program = job.program.empty() ? arguments->front() : job.program,
            .arguments = std::move(*arguments),
            .environment = {concat("DROVER_ITEM_INDEX=", token.item.value), concat("DROVER_ATTEMPT=", attempt.value)},
            .stdout_path = {},
            .stderr_path = {}};
  // The kernel takes no longer string; a command that does not need it should still run.
  if (item.size() < kLongestVariable) task.environment.push_back(concat("DROVER_ITEM=", item));
  return task;
}

}  // namespace drover
