#include "cli/server_verb.h"

#include <boost/json.hpp>

#include "cli/print.h"

namespace drover {

Verb add_server_verb(const Verb& parent, const std::string& name, const std::string& help, const std::string& example,
                     AskingFlags& flags, Invocation& invocation, std::function<Result<int>(ServerClient&)> ask) {
  Verb verb = parent.add_subcommand(name, help);
  add_common_flags(verb, flags.common);
  add_server_flag(verb, flags.server);
  verb.footer((example.contains('\n') ? "Examples:\n  " : "Example:\n  ") + example);
  verb.callback([verb, &flags, &invocation, ask = std::move(ask)] {
    if (verb.has_chosen_part()) return;  // one of its parts was meant
    auto client = ServerClient::connect(flags.common, flags.server);
    auto done = client ? ask(*client) : std::unexpected(client.error());
    invocation.exit_status = done ? *done : failure(done.error());
  });
  return verb;
}

Result<int> show_answer(ServerClient& client, const AskingFlags& flags, const std::string& path,
                        const std::function<void(const boost::json::value&)>& print) {
  auto answer = client.get(path);
  if (!answer) return pass(answer);
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(*answer));
  } else {
    print(*answer);
  }
  return kAllSucceeded;
}

}  // namespace drover
