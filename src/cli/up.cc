// drover up: a server, and this machine as its fleet, from nothing to all of it.
#include "cli/notices_in_background.h"
#include "cli/prices_file.h"
#include "cli/serving.h"
#include "cli/verb.h"
#include "store/run_folder.h"

namespace drover {
namespace {

struct UpFlags {
  CommonFlags common;
  std::string prices;
  ServerOptions options;
};

Result<int> serve(UpFlags& flags) {
  flags.options.data = data_root(flags.common.data);
  flags.options.has_local_fleet = true;
  flags.options.log = flags.common.json ? ServerLog::Form::json : ServerLog::Form::text;
  auto prices = read_prices_file(flags.prices);
  if (!prices) return pass(prices);
  flags.options.prices = std::move(*prices);
  return run_server(flags.options, {});
}

}  // namespace

void add_up(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<UpFlags>();
  Verb verb = app.add_subcommand("up", "Run a server and, while there is work, workers on this machine");
  add_common_flags(verb, flags->common);
  verb.add_option("--listen", flags->options.listen, "Address to listen on; repeatable (default: 127.0.0.1:8750)")
      .type_name("ADDR:PORT");
  verb.add_option("--prices", flags->prices, "YAML or JSON file with prices of machines, by shape").type_name("FILE");
  verb.footer(
      "The server has a fleet 'local', which scales from no machines to all CPUs of this computer and back; change it\n"
      "with 'drover fleet set local'. Ctrl-C drains it and stops the server; a second Ctrl-C kills running items.\n\n"
      "Examples:\n  drover up\n  drover up --listen 127.0.0.1:9000 --data /srv/drover");
  verb.callback([flags, &invocation] {
    auto done = serve(*flags);
    const NoticesInBackground notices;
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
