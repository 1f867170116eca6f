// What the readers of a policy's elements share.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/document.h"

namespace drover::aws {

/// Values in one element of a policy, such as the actions of a statement.
inline constexpr std::size_t kMostPolicyValues = 1000;

std::unexpected<Error> bad_policy(std::string message, std::string next);

/// The text in quotation marks for a message, cut where it is too long for one.
std::string quoted_value(std::string_view text);

/// One string, or a list of at least one.
Result<std::vector<std::string>> string_or_list(std::string_view element, const Node& node);

/// Like string_or_list, but booleans and numbers count as the text that they are written as.
Result<std::vector<std::string>> scalar_or_list(std::string_view element, const Node& node);

/// Calls `read` with each field, and refuses a name that appears twice.
Result<void> each_field(std::string_view element, const Node& node,
                        const std::function<Result<void>(const std::string& name, const Node& value)>& read);

}  // namespace drover::aws
