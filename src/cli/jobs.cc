// drover jobs: what a server has been given to do.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"

namespace drover {
namespace json = boost::json;
namespace {

struct JobsFlags : AskingFlags {
  std::string state;
  std::string queue;
  std::string owner;
  std::string share;
  std::uint64_t limit = 20;
};

Result<int> jobs(ServerClient& client, const JobsFlags& flags) {
  std::string path = fmt::format("/api/v1/jobs?limit={}", flags.limit);
  const std::pair<const char*, const std::string*> filters[] = {
      {"state", &flags.state}, {"queue", &flags.queue}, {"owner", &flags.owner}, {"share", &flags.share}};
  for (const auto& [name, value] : filters) {
    if (!value->empty()) path += fmt::format("&{}={}", name, url_escape(*value));
  }
  auto answer = client.get(path);
  if (!answer) return pass(answer);
  if (flags.common.json) {
    show("{}\n", json::serialize(*answer));
    return kAllSucceeded;
  }
  using enum Column::Align;
  Table table({{.title = "ID"},
               {.title = "NAME", .cut = true},
               {.title = "STATE"},
               {.title = "QUEUE", .spare = 1},
               {.title = "SHARE", .spare = 3},
               {.title = "OWNER", .spare = 2},
               {.title = "ITEMS", .align = right},
               {.title = "ASSIGNED", .align = right, .spare = 4},
               {.title = "RUNNING", .align = right},
               {.title = "SUCCEEDED", .align = right},
               {.title = "FAILED", .align = right}});
  for (const json::value& job : list_in(*answer, "jobs")) {
    const json::value counts = object_in(job, "counts");
    const auto count = [&](const char* state) { return format_count(number_in(counts, state)); };
    table.add({text_in(job, "id").substr(0, 8), text_in(job, "name"), text_in(job, "state"), text_in(job, "queue"),
               text_in(job, "share"), text_in(job, "owner"), format_count(number_in(job, "total")),
               format_count(number_in(job, "leased")), count("running"), count("succeeded"), count("failed")});
  }
  table.print();
  if (!text_in(*answer, "next").empty() && !flags.common.quiet) {
    print_notice(fmt::format("there are more jobs; --limit {} shows twice as many", 2 * flags.limit));
  }
  return kAllSucceeded;
}

}  // namespace

void add_jobs(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<JobsFlags>();
  Verb verb = add_server_verb(app, "jobs", "List a server's jobs, newest first",
                              "drover jobs --state running\n  drover jobs --queue night --owner ci", *flags, invocation,
                              [flags](ServerClient& client) { return jobs(client, *flags); });
  verb.add_option("--state", flags->state, "Show only jobs in this state")
      .type_name("STATE")
      .one_of({"pending", "running", "succeeded", "failed", "cancelled"});
  verb.add_option("--queue", flags->queue, "Show only jobs in this queue").type_name("QUEUE");
  verb.add_option("--owner", flags->owner, "Show only jobs submitted with the key that has this label")
      .type_name("NAME");
  verb.add_option("--share", flags->share, "Show only jobs in this share").type_name("NAME");
  verb.add_option("--limit", flags->limit, "Maximum number of jobs to list (default: 20)")
      .type_name("N")
      .range(1, 10'000);
}

}  // namespace drover
