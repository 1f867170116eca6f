#include "wire/place_lists.h"

#include <boost/json.hpp>

namespace drover {
namespace json = boost::json;
namespace {

/// Every element of a list through `one`, which says nothing of what it cannot be.
template <class T, class One>
std::optional<std::vector<T>> each_of(std::string_view text, One&& one) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_array()) return std::nullopt;
  std::vector<T> out;
  for (const json::value& element : value.get_array()) {
    auto read = one(element);
    if (!read) return std::nullopt;
    out.push_back(std::move(*read));
  }
  return out;
}

std::optional<std::uint64_t> number_in(const json::value& object, const char* name) {
  const json::value* value = object.is_object() ? object.get_object().if_contains(name) : nullptr;
  if (value == nullptr) return std::nullopt;
  json::error_code error;
  const auto number = value->to_number<std::uint64_t>(error);
  return error ? std::nullopt : std::optional(number);
}

}  // namespace

std::string after_to_json(const std::vector<Dependency>& after) {
  json::array out;
  for (const Dependency& it : after) out.push_back(json::object{{"job", it.job.value}, {"each", it.each}});
  return json::serialize(out);
}

std::optional<std::vector<Dependency>> after_from_json(std::string_view text) {
  return each_of<Dependency>(text, [](const json::value& it) -> std::optional<Dependency> {
    const auto job = number_in(it, "job");
    if (!job) return std::nullopt;
    const json::value* each = it.get_object().if_contains("each");
    return Dependency{JobId{*job}, each != nullptr && each->is_bool() && each->get_bool()};
  });
}

std::string weights_to_json(const std::vector<ShareWeight>& weights) {
  json::array out;
  for (const ShareWeight& it : weights) out.push_back(json::object{{"share", it.share}, {"weight", it.weight}});
  return json::serialize(out);
}

std::optional<std::vector<ShareWeight>> weights_from_json(std::string_view text) {
  return each_of<ShareWeight>(text, [](const json::value& it) -> std::optional<ShareWeight> {
    const auto weight = number_in(it, "weight");
    const json::value* share = it.is_object() ? it.get_object().if_contains("share") : nullptr;
    if (!weight || *weight > ShareWeight::kMost || share == nullptr || !share->is_string()) return std::nullopt;
    return ShareWeight{std::string(share->get_string()), static_cast<std::uint32_t>(*weight)};
  });
}

std::string names_to_json(const std::vector<std::string>& names) {
  json::array out;
  for (const std::string& name : names) out.emplace_back(name);
  return json::serialize(out);
}

std::optional<std::vector<std::string>> names_from_json(std::string_view text) {
  return each_of<std::string>(text, [](const json::value& it) {
    return it.is_string() ? std::optional(std::string(it.get_string())) : std::nullopt;
  });
}

}  // namespace drover
