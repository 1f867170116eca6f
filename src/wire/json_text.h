// JSON that can be changed without touching the rest of its text: spaces, order, numbers and unknown members stay as
// they were written.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover {

/// A value, with the text it was read from.
struct JsonValue {
  enum class Kind : unsigned char { null, boolean, number, string, array, object };
  struct Child;

  Kind kind = Kind::null;
  std::string_view text = "null";  // of a scalar: as written, a string with its quotes
  std::string_view tail;           // of an array or object without children: what is between the brackets
  std::vector<Child> children;     // of an array or object

  bool is_object() const { return kind == Kind::object; }
  bool is_array() const { return kind == Kind::array; }
  bool is_string() const { return kind == Kind::string; }
  /// The last member of this name, or nullptr.
  const JsonValue* find(std::string_view name) const;
  JsonValue* find(std::string_view name);
  /// The characters of a string; the text of any other scalar.
  std::string string() const;
  /// The strings in an array; whatever else it holds is left out.
  std::vector<std::string> strings() const;
};

struct JsonValue::Child {
  std::string_view lead;   // spaces before the value, in an object with the name and the colon
  std::string_view trail;  // spaces between the value and the comma or bracket
  std::string name;        // in an object
  JsonValue value;
};

/// Owns a text and the tree of its values.
class JsonText {
 public:
  JsonText(JsonText&&) = default;
  JsonText& operator=(JsonText&&) = default;

  /// An error says where the text is malformed.
  static Result<JsonText> parse(std::string text);

  JsonValue& root() { return root_; }
  const JsonValue& root() const { return root_; }
  /// The text with all changes.
  std::string text() const;

  /// Parses `json`, which is well-formed, into a value that can be put into the tree.
  JsonValue value(std::string json);
  /// The member of this name, which is added with this value if it is missing.
  JsonValue& member(JsonValue& object, std::string_view name, std::string_view if_missing = "{}");
  /// Sets a member, in place if there is one; a new one is laid out as the members before it.
  JsonValue& set(JsonValue& object, std::string_view name, JsonValue value);
  /// Adds to the end of an array, laid out as the values before it.
  void append(JsonValue& array, JsonValue value);
  void prepend(JsonValue& array, JsonValue value);
  /// What append or set did is undone to the byte. False: there is no such member.
  bool erase(JsonValue& object, std::string_view name);
  static void erase(JsonValue& array, std::size_t index);

 private:
  JsonText() = default;

  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  JsonValue::Child& add_last(JsonValue& to, std::string_view name);

  std::deque<std::string> texts_;  // what the views show
  std::string_view before_, after_;
  JsonValue root_;
};

/// The value's text, with all changes.
void append_json(std::string& out, const JsonValue& value);

/// Whether JSON can say this number just so.
bool is_json_number(std::string_view text);

/// With quotes and escapes.
std::string json_quoted(std::string_view text);

}  // namespace drover
