// The shape of verbs that only ever speak to a server.
#pragma once

#include <functional>
#include <string>

#include "cli/server_client.h"
#include "cli/verb.h"

namespace drover {

struct AskingFlags {
  CommonFlags common;
  ServerFlags server;
};

/// A verb, or a part of one, with the usual flags; `ask` is called with a server at hand. `flags` outlives it.
CLI::App* add_server_verb(CLI::App& parent, const std::string& name, const std::string& help,
                          const std::string& example, AskingFlags& flags, Invocation& invocation,
                          std::function<Result<int>(ServerClient&)> ask);

}  // namespace drover
