// drover usage: what was used, and what of it was for nothing.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <map>

#include "base/money.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"
#include "cli/usage_words.h"

namespace drover {
namespace json = boost::json;
namespace {

struct UsageFlags : AskingFlags {
  std::string by = "owner";
};

struct Sum {
  std::uint64_t jobs = 0;
  JobUsage used;
};

/// Of the jobs that there still are: the list of usage has only their ids.
Result<std::map<std::string, std::string>> names_of_jobs(ServerClient& client) {
  std::map<std::string, std::string> names;
  std::string path = "/api/v1/jobs?limit=10000";
  while (true) {
    auto page = client.get(path);
    if (!page) return pass(page);
    for (const json::value& job : list_in(*page, "jobs")) names[text_in(job, "id")] = text_in(job, "name");
    const std::string next = text_in(*page, "next");
    if (next.empty()) return names;
    path = "/api/v1/jobs?limit=10000&before=" + next;
  }
}

void add_row(Table& table, const std::string& who, const Sum& sum) {
  const JobUsage& used = sum.used;
  const bool has_price = used.on_demand_microdollars > 0;
  table.add({who, hours(used.cpu_ms), hours(used.reserved_cpu_ms), gib_hours(used.memory_mib_s),
             hours(used.accelerator_ms), hours(used.wasted_reserved_ms),
             percent(used.wasted_reserved_ms, used.reserved_cpu_ms), hours(used.wasted_cpu_ms),
             format_count(static_cast<std::uint64_t>(used.failed_attempts)),
             format_count(static_cast<std::uint64_t>(used.lost_attempts)), format_count(sum.jobs),
             has_price ? format_dollars(used.cost_microdollars) : "",
             has_price ? format_dollars(used.on_demand_microdollars) : ""});
}

Result<int> usage(ServerClient& client, const UsageFlags& flags) {
  auto answer = client.get("/api/v1/usage?by=" + flags.by);
  if (!answer) return pass(answer);
  if (flags.common.json) {
    show("{}\n", json::serialize(*answer));
    return kAllSucceeded;
  }
  std::map<std::string, std::string> names;
  if (flags.by == "job") {
    auto found = names_of_jobs(client);
    if (!found) return pass(found);
    names = std::move(*found);
  }
  using enum Column::Align;
  std::string title = flags.by;
  for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  Table table({{.title = title, .cut = true},
               {.title = "CPU-H", .align = right},
               {.title = "ASKED-H", .align = right, .spare = 2},
               {.title = "GIB-H", .align = right},
               {.title = "ACCEL-H", .align = right, .spare = 3},
               {.title = "WASTED-H", .align = right},
               {.title = "WASTED", .align = right},
               {.title = "WASTED-CPU-H", .align = right, .spare = 5},
               {.title = "FAILED", .align = right, .spare = 1},
               {.title = "LOST", .align = right, .spare = 1},
               {.title = "JOBS", .align = right, .spare = 4},
               {.title = "COST", .align = right, .spare = 1},
               {.title = "ON-DEMAND", .align = right, .spare = 3}});
  Sum all;
  const json::array& lines = list_in(*answer, "usage");
  for (const json::value& line : lines) {
    const Sum sum{number_in(line, "jobs"), usage_in(line)};
    all.jobs += sum.jobs;
    all.used += sum.used;
    std::string who = text_in(line, flags.by.c_str());
    if (const auto name = names.find(who); name != names.end()) {
      who = fmt::format("{} {}", who.substr(0, 8), name->second);
    }
    add_row(table, who.empty() ? "(none)" : who, sum);
  }
  if (lines.size() > 1) add_row(table, "all", all);
  table.print();
  return kAllSucceeded;
}

}  // namespace

void add_usage(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<UsageFlags>();
  add_server_verb(app, "usage", "Show resource usage, and how much of it was wasted on failed and lost attempts",
                  "drover usage\n  drover usage --by share", *flags, invocation,
                  [flags](ServerClient& client) { return usage(client, *flags); })
      .add_option("--by", flags->by, "Group usage by this (default: owner)")
      .type_name("WHAT")
      .one_of({"owner", "queue", "share", "job"});
}

}  // namespace drover
