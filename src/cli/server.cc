// drover server: the core behind HTTP, on one machine; workers and people reach it from anywhere.
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/config_file.h"
#include "cli/notices_in_background.h"
#include "cli/prices_file.h"
#include "cli/print.h"
#include "cli/serving.h"
#include "cli/verb.h"
#include "store/run_folder.h"

namespace drover {
namespace {

// Shorter than a poll's way there and back over a slow line, every lease would be lost.
constexpr std::int64_t kShortestLeaseMs = 1'000;
constexpr std::int64_t kLongestLeaseMs = std::int64_t{24} * 3600 * 1000;

struct ServeFlags {
  CommonFlags common;
  ServerOptions options;
  std::string lease = "60s";
  std::string log = "text";
  std::string keep;
  std::string job_key_life;
  std::string min_free;
  RegistryFlags registries;
  std::vector<std::string> fleet_commands;
  std::string prices;
  std::string config;
};

/// NAME=PROGRAM, and the program is there.
Result<void> read_fleet_commands(const std::vector<std::string>& words, std::map<std::string, std::string>& to) {
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (equals == std::string::npos || !is_valid_name(name)) {
      return fail(ErrorCode::bad_input, concat("--fleet-command '", word, "' is not NAME=PROGRAM"),
                  "write, for example, --fleet-command ec2=/etc/drover/ec2-machines");
    }
    std::error_code error;
    const std::string program = std::filesystem::absolute(word.substr(equals + 1), error).string();
    if (::access(program.c_str(), X_OK) != 0) {
      return fail(ErrorCode::bad_input,
                  concat("--fleet-command ", name, ": ", program,
                         " cannot be executed: ", std::error_code(errno, std::generic_category()).message()),
                  "check the path, and make the program executable (chmod +x)");
    }
    if (!to.emplace(name, program).second) {
      return fail(ErrorCode::bad_input, concat("--fleet-command ", name, " is given twice"), "omit one of them");
    }
  }
  return {};
}

Result<int> serve(ServeFlags& flags) {
  flags.options.data = data_root(flags.common.data);
  auto lease_ms = parse_duration_ms(flags.lease);
  if (!lease_ms) return pass(lease_ms);
  if (*lease_ms < kShortestLeaseMs || *lease_ms > kLongestLeaseMs) {
    return fail(ErrorCode::bad_input, concat("--lease ", flags.lease, " is out of range"),
                "use a time from 1s to 24h (default: 60s)");
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
  if (auto read = read_fleet_commands(flags.fleet_commands, flags.options.fleet_commands); !read) return pass(read);
  const std::string& where = flags.options.batch_machines;
  if (where != "local" && where != "none" && !flags.options.fleet_commands.contains(where)) {
    return fail(ErrorCode::bad_input,
                concat("--batch-machines '", where, "' is neither local nor none nor a --fleet-command"),
                concat("name its program, for example: --fleet-command ", where, "=/etc/drover/", where));
  }
  auto prices = read_prices_file(flags.prices);
  if (!prices) return pass(prices);
  flags.options.prices = std::move(*prices);
  return run_server(flags.options, flags.registries);
}

}  // namespace

void add_server(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<ServeFlags>();
  Verb verb =
      app.add_subcommand("server", "Run a server that distributes job items to workers and records the outcomes");
  add_common_flags(verb, flags->common);
  verb.add_option("--listen", flags->options.listen, "Address to listen on; repeatable (default: 127.0.0.1:8750)")
      .type_name("ADDR:PORT");
  verb.add_option("--advertise", flags->options.advertise,
                  "Name or address at which other machines reach the server; repeatable")
      .type_name("HOST[:PORT]");
  verb.add_flag("--plain-http", flags->options.plain_http,
                "Do not use TLS for connections from other machines; for private networks only");
  verb.add_option("--lease", flags->lease,
                  "Time without contact after which a worker's items are reassigned to other workers (default: 60s)")
      .type_name("TIME");
  verb.add_option("--keep", flags->keep,
                  "How long to keep jobs and their logs after they have ended; 0: forever (default: 7d)")
      .type_name("TIME");
  verb.add_option("--log", flags->log, "Format of the server's own log: text or json")
      .type_name("FORM")
      .one_of({"text", "json"});
  verb.add_option("--job-key-life", flags->job_key_life,
                  "How long an attempt's key stays valid beyond its job's timeout (default: 12h)")
      .type_name("TIME");
  verb.add_option(
          "--min-free", flags->min_free,
          "Stop accepting new jobs when free disk space falls below this, and stop storing logs below half of it; 0: "
          "no limit (default: 256MiB)")
      .type_name("SIZE");
  verb.add_option(
          "--registries", flags->registries.names,
          "Registries whose image tags the server looks up itself; workers look up tags in all others. A registry "
          "named here may "
          "have a private address; http://HOST:PORT is a registry without TLS; 'none' for no registry; repeatable "
          "(default: docker.io, ghcr.io, quay.io, public.ecr.aws, gcr.io, registry.k8s.io)")
      .type_name("HOST[:PORT],...")
      .separated_by(',');
  verb.add_option("--fleet-command", flags->fleet_commands,
                  "Program that launches, lists and terminates machines of fleets with 'command: NAME'; repeatable")
      .type_name("NAME=PROGRAM")
      .repeatable();
  verb.add_option("--batch-machines", flags->options.batch_machines,
                  "Where machines of managed AWS Batch environments run: local (this machine), none, or the name of a "
                  "--fleet-command (default: local)")
      .type_name("WHERE");
  verb.add_option("--prices", flags->prices,
                  "YAML or JSON file with prices of machines, by shape; they override the built-in ones")
      .type_name("FILE");
  verb.footer(
      "Examples:\n  drover server\n  drover server --listen 0.0.0.0:8750 --advertise head.example.org\n"
      "  drover server --config /etc/drover/server.toml");
  add_config_flag(verb, flags->config, "DROVER_SERVER");
  verb.callback([flags, verb, &invocation] {
    auto configured = read_config(verb, flags->config);
    auto done = configured ? serve(*flags) : std::unexpected(configured.error());
    const NoticesInBackground notices;
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
