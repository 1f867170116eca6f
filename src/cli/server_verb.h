// The shape of verbs that only ever speak to a server.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <string>

#include "cli/server_client.h"
#include "cli/verb.h"

namespace drover {

struct AskingFlags {
  CommonFlags common;
  ServerFlags server;
};

/// Asks for what is there: as it came with --json, else as `print` shows it.
Result<int> show_answer(ServerClient& client, const AskingFlags& flags, const std::string& path,
                        const std::function<void(const boost::json::value&)>& print);

/// A verb, or a part of one, with the usual flags; `ask` is called with a server at hand. `flags` outlives it.
Verb add_server_verb(const Verb& parent, const std::string& name, const std::string& help, const std::string& example,
                     AskingFlags& flags, Invocation& invocation, std::function<Result<int>(ServerClient&)> ask);

}  // namespace drover
