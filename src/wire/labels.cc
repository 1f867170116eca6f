#include "wire/labels.h"

#include <boost/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace json = boost::json;

std::string labels_to_json(const Labels& labels) {
  json::object out;
  for (const auto& [name, value] : labels) out[name] = value;
  return json::serialize(out);
}

Result<Labels> labels_from_json(std::string_view text) {
  json::error_code error;
  const json::value parsed = json::parse(text, error);
  if (error || !parsed.is_object()) return fail(ErrorCode::bad_input, "must be an object of strings");
  Labels labels;
  for (const auto& [name, value] : parsed.get_object()) {
    if (!value.is_string()) return fail(ErrorCode::bad_input, "must be an object of strings");
    const std::string said(value.get_string());
    if (!is_valid_label(name, said)) {
      return fail(ErrorCode::bad_input, concat("contains the invalid label '", utf8(name), "'"), kLabelCharacters);
    }
    labels.emplace(name, said);
  }
  return labels;
}

Result<Labels> labels_from_words(std::string_view flag, const std::vector<std::string>& words) {
  Labels labels;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
      return fail(ErrorCode::bad_input, concat(flag, " '", utf8(word), "' has no value"),
                  concat("write ", flag, " NAME=VALUE"));
    }
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (!is_valid_label(name, value)) {
      return fail(ErrorCode::bad_input, concat(flag, " '", utf8(word), "' is not a valid label"), kLabelCharacters);
    }
    if (!labels.emplace(name, value).second && labels.at(name) != value) {
      return fail(ErrorCode::bad_input, concat(flag, " sets '", name, "' to two values"), "keep one");
    }
  }
  return labels;
}

}  // namespace drover
