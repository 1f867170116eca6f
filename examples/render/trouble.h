// Why something cannot be done, in words for whoever asked for it.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace render {

struct Trouble {
  std::string what;  // the thing and the reason
  std::string next;  // what to do about it
};

inline std::unexpected<Trouble> trouble(std::string what, std::string next) {
  return std::unexpected(Trouble{std::move(what), std::move(next)});
}

/// Tells the trouble on standard error in the name of `program`. Returns the exit status of bad usage or input.
int complain(const char* program, const Trouble& trouble);

}  // namespace render
