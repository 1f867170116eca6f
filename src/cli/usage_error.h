// What is said of a command line that the parser does not understand: what is wrong, and what was likely meant.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace drover {

/// There is no such verb.
Error unknown_verb(const CLI::App& app, const std::string& verb);
/// `verb` has no such flag.
Error unknown_flag(const CLI::App& verb, const std::string& flag);
/// `app` threw this.
Error usage_error(const CLI::App& app, const CLI::ParseError& thrown);

}  // namespace drover
