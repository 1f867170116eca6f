// drover server: the core behind HTTP, on one machine; workers and people reach it from anywhere.
#include "server/server.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/text.h"
#include "base/units.h"
#include "build_info.h"
#include "cli/config_file.h"
#include "cli/image_here.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "store/run_folder.h"

namespace drover {
namespace {

// Shorter than a poll's way there and back over a slow line, every lease would be lost.
constexpr std::int64_t kShortestLeaseMs = 1'000;
constexpr std::int64_t kLongestLeaseMs = std::int64_t{24} * 3600 * 1000;

struct Flags {
  CommonFlags common;
  ServerOptions options;
  std::string lease = "60s";
  std::string log = "text";
  std::string keep;
  std::string job_key_life;
  std::string min_free;
  std::string config;
};

Result<int> serve(Flags& flags) {
  flags.options.data = data_root(flags.common.data);
  flags.options.version = DROVER_VERSION;
  flags.options.make_image_resolver = [] { return tag_resolver(); };
  auto lease_ms = parse_duration_ms(flags.lease);
  if (!lease_ms) return pass(lease_ms);
  if (*lease_ms < kShortestLeaseMs || *lease_ms > kLongestLeaseMs) {
    return fail(ErrorCode::bad_input, concat("--lease ", flags.lease, " is too short or too long"),
                "give it 1s to 24h; 60s is usual");
  }
  flags.options.lease_ms = *lease_ms;
  flags.options.log = flags.log == "json" || flags.common.json ? ServerLog::Form::json : ServerLog::Form::text;
  if (!flags.keep.empty()) {
    auto keep_ms = parse_duration_ms(flags.keep);
    if (!keep_ms) return pass(keep_ms);
    flags.options.keep_ms = *keep_ms;
  }
  if (!flags.job_key_life.empty()) {
    auto life_ms = parse_duration_ms(flags.job_key_life);
    if (!life_ms) return pass(life_ms);
    flags.options.job_key_life_ms = *life_ms;
  }
  if (!flags.min_free.empty()) {
    auto bytes = parse_size(flags.min_free);
    if (!bytes) return pass(bytes);
    flags.options.min_free_bytes = *bytes;
  }
  block_signals();
  auto server = Server::start(flags.options);
  if (!server) return pass(server);
  auto ended = (*server)->run();
  if (!ended) return pass(ended);
  return kAllSucceeded;
}

}  // namespace

void add_server(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<Flags>();
  CLI::App* verb = app.add_subcommand("server", "Serve jobs to workers, and keep what becomes of them");
  add_common_flags(*verb, flags->common);
  verb->add_option("--listen", flags->options.listen, "Where to listen (default: 127.0.0.1:8750); may be given again")
      ->type_name("ADDR:PORT");
  verb->add_option("--advertise", flags->options.advertise,
                   "A name or address by which others reach it; may be given again")
      ->type_name("HOST[:PORT]");
  verb->add_flag("--plain-http", flags->options.plain_http, "No TLS beyond this machine: for private networks only");
  verb->add_option("--lease", flags->lease,
                   "How long a worker may be silent before others get its items (default: 60s)")
      ->type_name("TIME");
  verb->add_option("--keep", flags->keep,
                   "How long jobs are kept after their end, with their logs (default: 7d; 0: for ever)")
      ->type_name("TIME");
  verb->add_option("--log", flags->log, "Its own log, as text or json")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "json"}));
  verb->add_option("--job-key-life", flags->job_key_life,
                   "For how long the key that an attempt gets is good, beyond its job's timeout (default: 12h)")
      ->type_name("TIME");
  verb->add_option("--min-free", flags->min_free,
                   "Take no new jobs while its disk has less free than this (default: 256MiB; 0: no mark)")
      ->type_name("SIZE");
  verb->footer(
      "Examples:\n  drover server\n  drover server --listen 0.0.0.0:8750 --advertise head.example.org\n"
      "  drover server --config /etc/drover/server.toml");
  add_config_flag(*verb, flags->config, "DROVER_SERVER");
  verb->callback([flags, verb, &invocation] {
    auto configured = read_config(*verb, flags->config);
    auto done = configured ? serve(*flags) : std::unexpected(configured.error());
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
