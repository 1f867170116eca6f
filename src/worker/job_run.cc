#include "worker/job_run.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "worker/program.h"

namespace drover {
namespace {

constexpr std::size_t kLongestVariable = (std::size_t{128} << 10) - sizeof "DROVER_ITEM=";

}  // namespace

namespace {

// What stands before the command: the entry point, and the image's own command where there is no other.
std::vector<std::string> words_before(const Definition& definition, const ContainerPlan& plan) {
  if (definition.shell) return {};
  const auto entrypoint = definition.container ? definition.container->entrypoint : plan.options.entrypoint;
  std::vector<std::string> words = entrypoint.value_or(plan.image.entrypoint);
  if (definition.command.empty() && !entrypoint) {
    words.insert(words.end(), plan.image.command.begin(), plan.image.command.end());
  }
  return words;
}

Result<JobRun> make_container_run(const Definition& definition, const std::map<std::string, std::string>& settings,
                                  std::shared_ptr<const ContainerPlan> plan) {
  const std::vector<std::string> before = words_before(definition, *plan);
  if (before.empty() && definition.command.empty()) {
    return fail(ErrorCode::bad_input,
                concat("image ", plan->options.image, " has no default command, and the job specifies none"),
                "write the command after --, or in 'command'");
  }
  auto command = CommandTemplate::parse(definition, before);
  if (!command) return pass(command);
  std::vector<std::string> environment = container_environment(definition, *plan, settings);
  return JobRun{std::move(*command),
                {},
                {.environment = std::move(environment),
                 .workdir = definition.workdir,
                 .limits = definition.limits,
                 .container = std::move(plan)}};
}

}  // namespace

Result<JobRun> make_job_run(const Definition& definition, const std::string& uuid,
                            std::map<std::string, std::string> settings,
                            std::shared_ptr<const ContainerPlan> container) {
  settings["DROVER_JOB_ID"] = uuid;
  if (container) return make_container_run(definition, settings, std::move(container));
  auto command = CommandTemplate::parse(definition);
  if (!command) return pass(command);
  auto program = find_program(definition);
  if (!program) return pass(program);
  return JobRun{std::move(*command),
                std::move(*program),
                {.environment = attempt_environment(definition, settings),
                 .workdir = definition.workdir,
                 .limits = definition.limits,
                 .container = nullptr}};
}

ItemLimits held_to(ItemLimits limits, const Resources& ask) {
  if (limits.memory_bytes > 0 || ask.memory_bytes > 0) limits.memory_bytes = ask.memory_bytes;
  if (limits.milli_cpus > 0 || ask.milli_cpus != kUsualMilliCpus) {
    limits.milli_cpus =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(ask.milli_cpus, std::numeric_limits<std::uint32_t>::max()));
  }
  return limits;
}

Result<Task> make_task(const JobRun& job, Token token, AttemptNumber attempt, const std::string& item,
                       const StagedItem& staged) {
  auto arguments = job.command.render(staged.text.empty() ? item : staged.text, token.item);
  if (!arguments) return pass(arguments);
  Task task{.token = token,
            .program = job.program.empty() ? arguments->front() : job.program,
            .arguments = std::move(*arguments),
            .environment = {concat("DROVER_ITEM_INDEX=", token.item.value), concat("DROVER_ATTEMPT=", attempt.value)},
            .stdout_path = {},
            .stderr_path = {}};
  // The kernel takes no longer string; a command that does not need it should still run.
  if (item.size() < kLongestVariable) task.environment.push_back(concat("DROVER_ITEM=", item));
  task.environment.insert(task.environment.end(), staged.environment.begin(), staged.environment.end());
  return task;
}

}  // namespace drover
