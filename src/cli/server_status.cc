// drover status, of a server's job.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"
#include "cli/usage_words.h"
#include "screen/plain_text.h"
#include "screen/time_words.h"
#include "worker/command_template.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string counts_text(const json::value& job) {
  const json::value counts = object_in(job, "counts");
  std::string out = format_count(number_in(job, "total")) + ":";
  for (const char* state : {"succeeded", "failed", "running", "waiting", "pending", "cancelled"}) {
    if (const auto count = number_in(counts, state); count > 0) {
      out += fmt::format("{} {} {}", out.ends_with(':') ? "" : ",", format_count(count), state);
    }
  }
  // Workers name an item as running when it has run for a second.
  if (const auto leased = number_in(job, "leased"); leased > number_in(counts, "running")) {
    out += fmt::format("{} {} assigned to workers", out.ends_with(':') ? "" : ",", format_count(leased));
  }
  if (out.ends_with(':')) out.pop_back();
  return out;
}

std::string command_text(const json::value& job) {
  std::vector<std::string> words;
  const json::value definition = object_in(job, "definition");
  for (const json::value& word : list_in(definition, "command")) {
    if (word.is_string()) words.emplace_back(word.get_string());
  }
  if (words.empty()) return {};
  return flag_in(definition, "shell") ? fmt::format("{}", fmt::join(words, " ")) : shown_command(words);
}

std::string place_text(const json::value& job) {
  std::string out = text_in(job, "queue");
  if (const std::string share = text_in(job, "share"); !share.empty()) out += fmt::format(", share '{}'", share);
  out += fmt::format(", priority {}", number_in(job, "priority"));
  if (const std::string owner = text_in(job, "owner"); !owner.empty()) {
    out += fmt::format(", submitted by {}", plain_text(owner, 40));
  }
  return out;
}

std::string after_text(const json::value& after) {
  const std::string name = text_in(after, "name");
  return fmt::format("{}{}", name.empty() ? "a deleted job" : fmt::format("job {}", name),
                     flag_in(after, "each") ? ", each item after the item with the same index" : "");
}

std::string usage_text(const JobUsage& used) {
  std::string out = fmt::format("{} CPU-hours, {} GiB-hours", hours(used.cpu_ms), gib_hours(used.memory_mib_s));
  if (used.accelerator_ms > 0) out += fmt::format(", {} accelerator-hours", hours(used.accelerator_ms));
  if (used.accelerator_ms > 0 && used.gpu_busy_ms + used.gpu_energy_j > 0) {
    out += fmt::format(", of which GPUs were busy for {}, {:.1f} kJ", percent(used.gpu_busy_ms, used.accelerator_ms),
                       static_cast<double>(used.gpu_energy_j) / 1e3);
  }
  return out;
}

}  // namespace

Result<int> server_status(const CommonFlags& common, const ServerFlags& server, const std::string& job) {
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  auto which = whole_job(*client, job);
  if (!which) return pass(which);
  auto answer = client->get(job_path(*which));
  if (!answer) return pass(answer);
  if (common.json) {
    show("{}\n", json::serialize(*answer));
    return kAllSucceeded;
  }
  const std::string name = text_in(*answer, "name");
  const auto line = [](std::string_view what, const std::string& value) { show("  {:<10} {}\n", what, value); };
  show("job '{}' {}\n", name, text_in(*answer, "state"));
  if (const std::string reason = text_in(*answer, "reason"); !reason.empty()) show("  {}\n", plain_text(reason));
  line("id", text_in(*answer, "id"));
  if (const std::string command = command_text(*answer); !command.empty()) line("command", plain_text(command, 200));
  line("queue", place_text(*answer));
  if (const std::string from = text_in(*answer, "definition_name"); !from.empty()) line("definition", from);
  for (const json::value& it : list_in(*answer, "after")) line("after", after_text(it));
  const auto ended_ms = number_in(*answer, "ended_ms");
  line("submitted", local_time(number_in(*answer, "created_ms")) +
                        (ended_ms > 0 ? fmt::format(", ended {}", local_time(ended_ms)) : ""));
  line("items", counts_text(*answer));
  if (const std::string why = text_in(*answer, "waits_for"); !why.empty()) line("why", plain_text(why));
  if (const JobUsage used = usage_in(json::value(object_in(*answer, "used"))); used.attempts > 0) {
    line("used", usage_text(used));
    if (const std::string cost = cost_words(used); !cost.empty()) line("cost", cost);
    if (used.failed_attempts + used.lost_attempts > 0) {
      line("wasted", fmt::format("{} of the reserved time, {} of the CPU time: {} failed, {} lost",
                                 percent(used.wasted_reserved_ms, std::max<std::int64_t>(1, used.reserved_cpu_ms)),
                                 percent(used.wasted_cpu_ms, std::max<std::int64_t>(1, used.cpu_ms)),
                                 plural(static_cast<std::uint64_t>(used.failed_attempts), "attempt"),
                                 format_count(static_cast<std::uint64_t>(used.lost_attempts))));
    }
  }
  for (const json::value& it : list_in(*answer, "idle_gpus")) {
    line(
        "idle GPU",
        fmt::format("GPU {} of worker '{}' for {}; item {}:{} has it", number_in(it, "index"), text_in(it, "worker"),
                    duration_words(static_cast<double>(number_in(it, "idle_ms")) / 1000), name, number_in(it, "item")));
  }
  if (number_in(json::value(object_in(*answer, "counts")), "failed") > 0) {
    line("failed", fmt::format("drover items {} --state failed", name));
  }
  return kAllSucceeded;
}

}  // namespace drover
