// drover server: the core behind HTTP, on one machine; workers and people reach it from anywhere.
#include "server/server.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "cli/print.h"
#include "cli/verb.h"
#include "store/run_folder.h"

namespace drover {
namespace {

struct Flags {
  CommonFlags common;
  ServerOptions options;
  std::string log = "text";
};

Result<int> serve(Flags& flags) {
  flags.options.data = data_root(flags.common.data);
  flags.options.log = flags.log == "json" ? ServerLog::Form::json : ServerLog::Form::text;
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
  verb->add_option("--log", flags->log, "Its own log, as text or json")->check(CLI::IsMember({"text", "json"}));
  verb->footer("Examples:\n  drover server\n  drover server --listen 0.0.0.0:8750 --advertise head.example.org");
  verb->callback([flags, &invocation] {
    auto done = serve(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
