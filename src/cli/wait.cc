// drover wait: until runs or jobs have ended.
#include <fmt/format.h>

#include "base/units.h"
#include "cli/server_job.h"
#include "cli/wait_for_end.h"

namespace drover {
namespace {

struct WaitFlags {
  CommonFlags common;
  ServerFlags server;
  std::vector<std::string> references;
  std::string timeout;
};

Result<int> wait_for(const WaitFlags& flags, const WaitLimits& limits, const std::string& reference) {
  auto place = site_of(flags.common, flags.server, reference);
  if (!place) return pass(place);
  if (*place == Site::here) return wait_for_run(limits, reference);
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto job = whole_job(*client, reference);
  if (!job) return pass(job);
  return wait_for_job(*client, limits, *job, JobIs::to_be_found);
}

Result<int> wait_for_all(const WaitFlags& flags) {
  WaitLimits limits{flags.common, std::nullopt};
  if (!flags.timeout.empty()) {
    auto time_ms = parse_duration_ms(flags.timeout);
    if (!time_ms) {
      return fail(ErrorCode::bad_input, fmt::format("--timeout: {}", time_ms.error().message), time_ms.error().next);
    }
    limits.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(*time_ms);
  }
  int worst = kAllSucceeded;
  for (const std::string& reference : flags.references.empty() ? std::vector<std::string>{""} : flags.references) {
    auto status = wait_for(flags, limits, reference);
    if (!status) return pass(status);
    worst = std::max(worst, *status);
  }
  return worst;
}

}  // namespace

void add_wait(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<WaitFlags>();
  Verb verb = app.add_subcommand("wait", "Wait until runs or a server's jobs have ended");
  add_common_flags(verb, flags->common);
  add_place_flags(verb, flags->server);
  verb.add_option("run", flags->references, "Names or ids of runs or jobs (default: the newest)").type_name("RUN");
  verb.add_option("--timeout", flags->timeout, "Stop waiting after this time and exit with status 124")
      .type_name("TIME");
  verb.footer(
      "Examples:\n  drover wait nightly\n  drover wait train evaluate --timeout 2h --server "
      "http://head.example.org:8750\n"
      "Exit status: 0 if all succeeded, 1 if some did not, 2 on invalid usage or an unknown run or job, 124 if "
      "--timeout was reached.");
  verb.callback([flags, &invocation] {
    auto done = wait_for_all(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
