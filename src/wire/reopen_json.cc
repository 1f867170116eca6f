#include "wire/reopen_json.h"

#include <algorithm>
#include <boost/json.hpp>

namespace drover {
namespace json = boost::json;
namespace {

/// Nothing where the field is absent; false where it is not a number of this type.
template <class T>
bool read_number(const json::object& from, const char* name, std::optional<T>& out) {
  const json::value* value = from.if_contains(name);
  if (value == nullptr) return true;
  json::error_code error;
  out = value->to_number<T>(error);
  return !error;
}

}  // namespace

std::string reopen_to_json(const ReopenChoice& choice) {
  json::object out{{"failed", choice.failed}};
  if (!choice.items.empty()) {
    json::array items;
    for (const ItemIndex item : choice.items) items.emplace_back(item.value);
    out["items"] = std::move(items);
  }
  if (choice.exit_code) out["exit_code"] = *choice.exit_code;
  if (choice.signal) out["signal"] = *choice.signal;
  if (choice.ending) out["ending"] = static_cast<std::uint32_t>(*choice.ending);
  return json::serialize(out);
}

std::optional<ReopenChoice> reopen_from_json(std::string_view text) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return std::nullopt;
  const json::object& from = value.get_object();
  ReopenChoice out;
  const json::value* failed = from.if_contains("failed");
  if (failed == nullptr || !failed->is_bool()) return std::nullopt;
  out.failed = failed->get_bool();
  if (const json::value* items = from.if_contains("items")) {
    if (!items->is_array()) return std::nullopt;
    for (const json::value& item : items->get_array()) {
      out.items.push_back(ItemIndex{item.to_number<std::uint64_t>(error)});
      if (error) return std::nullopt;
    }
    if (!std::ranges::is_sorted(out.items)) return std::nullopt;
  }
  std::optional<std::uint32_t> ending;
  const bool is_valid = read_number(from, "exit_code", out.exit_code) && read_number(from, "signal", out.signal) &&
                        read_number(from, "ending", ending);
  if (!is_valid || (ending && *ending > static_cast<std::uint32_t>(Ending::out_of_memory))) return std::nullopt;
  if (ending) out.ending = static_cast<Ending>(*ending);
  return out;
}

}  // namespace drover
