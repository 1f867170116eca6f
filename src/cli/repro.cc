// drover repro: an item once more, on this machine and outside any queue, and where that is not as it was.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "cli/attempt_here.h"
#include "cli/image_here.h"
#include "cli/item_here.h"
#include "cli/print.h"
#include "screen/plain_text.h"
#include "store/run_folder.h"
#include "worker/command_template.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string recorded_words(const RecordedItem& item) {
  if (!item.attempt) return item.is_running ? "its first attempt is running now" : "it has not run yet";
  return fmt::format("{} on attempt {}{}", item.attempt->how, item.attempt->number,
                     item.attempt->worker.empty() ? "" : fmt::format(" on worker '{}'", item.attempt->worker));
}

json::object to_json(const RecordedItem& item, const ItemHere& here, const AttemptEnd& end) {
  const auto number_or_null = [](bool has, int number) { return has ? json::value(number) : json::value(nullptr); };
  const Outcome& outcome = end.outcome;
  json::array differences;
  for (const std::string& each : here.differences) differences.emplace_back(utf8(each));
  return {{"job", item.job},
          {"id", item.uuid},
          {"item", item.index.value},
          {"recorded", item.attempt ? json::value{{"attempt", item.attempt->number},
                                                  {"how", item.attempt->how},
                                                  {"worker", item.attempt->worker.empty()
                                                                 ? json::value(nullptr)
                                                                 : json::value(utf8(item.attempt->worker))}}
                                    : json::value(nullptr)},
          {"ending", to_string(outcome.ending)},
          {"exit_code", number_or_null(outcome.ending == Ending::exited, outcome.exit_code)},
          {"signal", number_or_null(outcome.ending == Ending::signalled, outcome.signal)},
          {"reason", outcome.reason.empty() ? json::value(nullptr) : json::value(utf8(outcome.reason))},
          {"how", failure_kind(outcome.ending, outcome.exit_code, outcome.signal)},
          {"differences", std::move(differences)}};
}

void tell_end(const RecordedItem& item, const AttemptEnd& end) {
  const Outcome& outcome = end.outcome;
  const std::string how = failure_kind(outcome.ending, outcome.exit_code, outcome.signal);
  const std::string more = outcome.reason.empty() ? "" : fmt::format(" ({})", plain_text(outcome.reason, 300));
  if (item.attempt && item.attempt->how == how) {
    print_notice(fmt::format("the same as recorded: {}{}", recorded_words(item), more));
  } else {
    print_notice(fmt::format("recorded: {}; here: {}{}", recorded_words(item), how, more));
  }
}

Result<int> repro(const ItemFlags& flags) {
  auto item = find_item(flags);
  if (!item) return pass(item);
  const std::string root = data_root(flags.common.data);
  const bool is_silent = flags.common.quiet || flags.common.json;
  MachineRunner runner(containers_folder(root));
  auto here = item_here(*item, flags, runner, is_silent);
  if (!here) return pass(here);
  const auto& container = here->definition.container;
  if (container && container->reuse && container->reset == ContainerReset::none) {
    here->differences.emplace_back("its container is new: no items ran in it before");
  }
  auto ready = own_task(*item, *here);
  if (!ready) return pass(ready);
  if (!is_silent) {
    print_notice(fmt::format("item {} of '{}': {}", item->index.value, item->job,
                             plain_text(shown_command(ready->task.arguments), 500)));
    for (const std::string& each : here->differences) print_notice(fmt::format("different on this machine: {}", each));
  }
  // With --json standard output is for the answer, and what the item prints there stands on the other.
  auto end = run_here(runner, *ready,
                      {.timeout_ms = item->timeout_ms,
                       .grace_ms = item->grace_ms,
                       .output = flags.common.json ? STDERR_FILENO : STDOUT_FILENO});
  if (!end) return pass(end);
  if (flags.common.json) show("{}\n", json::serialize(to_json(*item, *here, *end)));
  if (!is_silent) tell_end(*item, *end);
  return end->exit_status;
}

}  // namespace

void add_repro(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<ItemFlags>();
  Verb verb = app.add_subcommand("repro", "Run an item again on this machine, without recording the result");
  add_item_flags(verb, *flags);
  verb.footer(
      "Example:\n  drover repro nightly:17\n"
      "Exit status: that of the item; 128 + N if it was terminated by signal N, 124 if it timed out, 137 if it ran out "
      "of "
      "memory, 127 if it cannot be started.");
  verb.callback([flags, &invocation] {
    auto status = repro(*flags);
    invocation.exit_status = status ? *status : failure(status.error());
  });
}

}  // namespace drover
