// Errors about an input, from the inside out.
#pragma once

#include <expected>
#include <string>
#include <string_view>

#include "wire/aws/input.h"

namespace drover::aws {

inline std::unexpected<BadInput> bad(std::string reason) {
  return std::unexpected(BadInput{{}, std::move(reason), false});
}

/// The same, of a member or element of what the error was about.
inline std::unexpected<BadInput> within(std::string_view name, BadInput inner) {
  if (!inner.member.empty() && !inner.member.starts_with('[')) inner.member.insert(0, 1, '.');
  inner.member.insert(0, name);
  return std::unexpected(std::move(inner));
}

/// A name that a client made up, for a message.
std::string shown_name(std::string_view name);

}  // namespace drover::aws
