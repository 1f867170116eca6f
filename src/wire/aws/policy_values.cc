#include "wire/aws/policy_values.h"

#include <set>
#include <span>

#include "base/text.h"
#include "base/utf8.h"

namespace drover::aws {
namespace {

enum class Accepted { strings, scalars };

Result<std::vector<std::string>> policy_list(std::string_view element, const Node& node, Accepted accepted) {
  const std::span<const Node> items =
      node.kind == Node::Kind::list ? std::span<const Node>(node.items) : std::span<const Node>(&node, 1);
  if (items.empty()) return bad_policy(concat(element, " is an empty list"), "name at least one value");
  if (items.size() > kMostPolicyValues) {
    return bad_policy(concat(element, " has ", items.size(), " values"),
                      concat("the limit is ", kMostPolicyValues, "; use wildcards or another statement"));
  }
  std::vector<std::string> texts;
  for (const Node& item : items) {
    const bool is_fit = accepted == Accepted::scalars ? item.is_scalar() : item.kind == Node::Kind::text;
    if (!is_fit) {
      return bad_policy(concat(element, " is neither a string nor a list of strings"), "write it as a string");
    }
    texts.push_back(item.text);
  }
  return texts;
}

}  // namespace

std::unexpected<Error> bad_policy(std::string message, std::string next) {
  return fail(ErrorCode::bad_input, std::move(message), std::move(next));
}

std::string quoted_value(std::string_view text) {
  constexpr std::size_t kMostBytes = 100;
  return text.size() <= kMostBytes ? concat("'", utf8(text), "'")
                                   : concat("'", utf8(text.substr(0, kMostBytes)), "...'");
}

Result<std::vector<std::string>> string_or_list(std::string_view element, const Node& node) {
  return policy_list(element, node, Accepted::strings);
}

Result<std::vector<std::string>> scalar_or_list(std::string_view element, const Node& node) {
  return policy_list(element, node, Accepted::scalars);
}

Result<void> each_field(std::string_view element, const Node& node,
                        const std::function<Result<void>(const std::string& name, const Node& value)>& read) {
  if (node.kind != Node::Kind::object) {
    return bad_policy(concat(element, " is not a JSON object"), "write it as {...}");
  }
  std::set<std::string_view> seen;
  for (const Node::Field& field : node.fields) {
    if (!seen.insert(field.name).second) {
      return bad_policy(concat(element, " has ", quoted_value(field.name), " twice"), "keep one");
    }
    if (auto done = read(field.name, field.value); !done) return done;
  }
  return {};
}

}  // namespace drover::aws
