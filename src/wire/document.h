// A value as somebody wrote it, in JSON or YAML: what it is, how it was written, and where it stands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover {

/// Counted from 1, columns in characters. Line 0: unknown, as the value came over the wire.
struct Position {
  std::uint32_t line = 0;
  std::uint32_t column = 0;

  auto operator<=>(const Position&) const = default;
};

struct Node {
  enum class Kind : std::uint8_t { null, boolean, number, text, list, object };
  struct Field;

  Kind kind = Kind::null;
  bool quoted = false;  // of a text
  Position place;
  std::string text;           // of a number, a boolean or a text: as it was written, so that 1.0 stays 1.0
  std::vector<Node> items;    // of a list
  std::vector<Field> fields;  // of an object, in the order in which they were written, doubles too

  bool is_scalar() const { return kind == Kind::boolean || kind == Kind::number || kind == Kind::text; }
  const Node* find(std::string_view name) const;
};

struct Node::Field {
  std::string name;
  Position place;
  Node value;
};

/// How deeply objects and lists may be nested.
inline constexpr std::size_t kMostDepth = 32;

Result<Node> node_from_json(std::string_view text);
/// Numbers as they were written, if JSON has such numbers; else as texts.
std::string node_to_json(const Node& node);

/// A field that its object has twice, with its path from the root.
struct RepeatedField {
  std::string path;
  Position place;
  Position first;
};
std::vector<RepeatedField> repeated_fields(const Node& root);

}  // namespace drover
