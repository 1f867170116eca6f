#include "wire/json_fields.h"

#include <boost/json.hpp>

#include "base/text.h"

namespace drover {
namespace json = boost::json;
namespace {

/// Walks over the text of an object that is known to be valid JSON.
class Walker {
 public:
  explicit Walker(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    skip_space();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  /// The text of the value that comes next.
  std::string_view take_value() {
    skip_space();
    std::size_t end = 0;
    int depth = 0;
    bool in_string = false;
    for (; end < rest_.size(); ++end) {
      const char c = rest_[end];
      if (in_string) {
        if (c == '\\') ++end;
        if (c == '"') in_string = false;
      } else if (c == '"') {
        in_string = true;
      } else if (c == '{' || c == '[') {
        ++depth;
      } else if (depth == 0 && (c == ',' || c == ':' || c == '}' || c == ']')) {
        break;
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
    std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end);
    value.remove_suffix(value.size() - std::min(value.size(), value.find_last_not_of(kSpace) + 1));
    return value;
  }

 private:
  static constexpr std::string_view kSpace = " \t\r\n";
  void skip_space() { rest_.remove_prefix(std::min(rest_.size(), rest_.find_first_not_of(kSpace))); }

  std::string_view rest_;
};

std::string as_text(std::string_view value) {
  if (value == "null") return {};
  if (!value.starts_with('"')) return std::string(value);
  return std::string(json::parse(value).get_string());
}

}  // namespace

Result<std::map<std::string, std::string>> json_fields(std::string_view text) {
  json::error_code error;
  const json::value whole = json::parse(text, error);
  if (error) return fail(ErrorCode::bad_input, concat("not a JSON object: ", error.message()));
  if (!whole.is_object()) return fail(ErrorCode::bad_input, "not a JSON object");
  std::map<std::string, std::string> fields;
  Walker walker(text);
  walker.take('{');
  if (whole.get_object().empty()) return fields;
  do {
    const std::string name = as_text(walker.take_value());
    walker.take(':');
    fields[name] = as_text(walker.take_value());
  } while (walker.take(','));
  return fields;
}

}  // namespace drover
