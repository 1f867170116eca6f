#include "cli/answer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "cli/print.h"

namespace drover {
namespace json = boost::json;
namespace {

const json::value* find(const json::value& object, const char* name) {
  return object.is_object() ? object.get_object().if_contains(name) : nullptr;
}

}  // namespace

std::string text_in(const json::value& object, const char* name) {
  const json::value* value = find(object, name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::uint64_t number_in(const json::value& object, const char* name) {
  const json::value* value = find(object, name);
  json::error_code error;
  return value != nullptr && value->is_number() ? value->to_number<std::uint64_t>(error) : 0;
}

bool flag_in(const json::value& object, const char* name) {
  const json::value* value = find(object, name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

const json::array& list_in(const json::value& object, const char* name) {
  static const json::array none;
  const json::value* value = find(object, name);
  return value != nullptr && value->is_array() ? value->get_array() : none;
}

const json::object& object_in(const json::value& object, const char* name) {
  static const json::object none;
  const json::value* value = find(object, name);
  return value != nullptr && value->is_object() ? value->get_object() : none;
}

std::string pairs_text(const json::object& pairs) {
  std::string out;
  for (const auto& [name, value] : pairs) {
    out += concat(out.empty() ? "" : " ", std::string_view(name), "=");
    // Numbers as people write them: 2, not 2E0.
    if (value.is_string()) {
      out += std::string_view(value.get_string());
    } else if (value.is_number()) {
      out += fmt::format("{:g}", value.to_number<double>());
    }
  }
  return out;
}

std::string words_text(const json::array& words) {
  std::string out;
  for (const json::value& it : words) {
    if (it.is_string()) out += (out.empty() ? "" : ", ") + std::string(it.get_string());
  }
  return out;
}

std::string local_time(std::uint64_t epoch_ms) {
  if (epoch_ms == 0) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(epoch_ms / 1000)));
}

int tell(const CommonFlags& flags, const json::value& answer, const std::string& sentence) {
  if (flags.json) {
    show("{}\n", json::serialize(answer));
  } else if (!flags.quiet) {
    show("{}\n", sentence);
  }
  return kAllSucceeded;
}

}  // namespace drover
