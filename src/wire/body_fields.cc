#include "wire/body_fields.h"

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <charconv>
#include <cmath>

#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/job_fields.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string in_a_row(const std::vector<std::string_view>& words) {
  std::string all;
  for (const std::string_view it : words) all += concat(all.empty() ? "" : ", ", it);
  return all;
}

}  // namespace

Result<void> BodyFields::read(std::string_view body, std::string_view what) const {
  json::error_code error;
  const json::value value = json::parse(body.empty() ? "{}" : body, error);
  if (error || !value.is_object()) {
    return fail(ErrorCode::bad_input, concat(what, " is not a JSON object", error ? concat(": ", error.message()) : ""),
                concat("send an object with any of ", names()));
  }
  return read(value.get_object());
}

Result<void> BodyFields::read(const json::object& object) const {
  for (const auto& [name, given] : object) {
    const auto reader = std::ranges::find_if(readers_, [&](const auto& it) { return it.first == name; });
    if (reader == readers_.end()) {
      std::vector<std::string_view> known;
      for (const auto& [field, read] : readers_) known.push_back(field);
      const std::string_view meant = nearest(name, known);
      return fail(ErrorCode::bad_input, concat("unknown field '", utf8(std::string_view(name)), "'"),
                  concat(meant.empty() ? "" : concat("did you mean '", meant, "'? "), "known fields: ", names()));
    }
    if (given.is_null()) continue;
    if (const std::string wrong = reader->second(given); !wrong.empty()) {
      return fail(ErrorCode::bad_input, concat("field '", std::string_view(name), "' ", wrong),
                  "send another value, or omit the field to use its default");
    }
  }
  return {};
}

std::string BodyFields::names() const {
  std::vector<std::string_view> all;
  all.reserve(readers_.size());
  for (const auto& [name, read] : readers_) all.push_back(name);
  return in_a_row(all);
}

BodyFields::Read BodyFields::whole(std::int64_t least, std::int64_t most, std::function<void(std::int64_t)> take) {
  return [least, most, take = std::move(take)](const json::value& value) -> std::string {
    json::error_code error;
    const auto number = value.to_number<std::int64_t>(error);
    if (error || number < least || number > most) return concat("must be a whole number from ", least, " to ", most);
    take(number);
    return {};
  };
}

BodyFields::Read BodyFields::real(double least, double most, std::function<void(double)> take) {
  return [least, most, take = std::move(take)](const json::value& value) -> std::string {
    json::error_code error;
    const auto number = value.to_number<double>(error);
    if (error || !(number >= least) || !(number <= most)) {
      return concat("must be a number from ", json::serialize(json::value(least)), " to ",
                    json::serialize(json::value(most)));
    }
    take(number);
    return {};
  };
}

BodyFields::Read BodyFields::text(std::size_t most_bytes, std::string& out) {
  return [most_bytes, &out](const json::value& value) -> std::string {
    if (!value.is_string()) return "must be a string";
    if (value.get_string().size() > most_bytes) return concat("is longer than ", most_bytes, " bytes");
    out = value.get_string();
    return {};
  };
}

BodyFields::Read BodyFields::flag(bool& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_bool()) return "must be true or false";
    out = value.get_bool();
    return {};
  };
}

BodyFields::Read BodyFields::names(std::vector<std::string>& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_array()) return "must be a list of names";
    out.clear();
    for (const json::value& it : value.get_array()) {
      if (!it.is_string() || !is_valid_name(std::string_view(it.get_string()))) return "must be a list of names";
      out.emplace_back(it.get_string());
    }
    return {};
  };
}

BodyFields::Read BodyFields::one_of(std::vector<std::string_view> choices, std::string& out) {
  return [&out, choices = std::move(choices)](const json::value& value) -> std::string {
    if (!value.is_string() || std::ranges::find(choices, std::string_view(value.get_string())) == choices.end()) {
      return concat("must be one of ", in_a_row(choices));
    }
    out = value.get_string();
    return {};
  };
}

std::string BodyFields::measure_in(const json::value& value) {
  if (value.is_string()) return std::string(value.get_string());
  if (!value.is_double()) return value.is_number() ? json::serialize(value) : std::string();
  std::array<char, 400> text{};
  const auto [end, error] =
      std::to_chars(text.data(), text.data() + text.size(), value.get_double(), std::chars_format::fixed);
  return error == std::errc{} ? std::string(text.data(), end) : std::string();
}

BodyFields::Read BodyFields::time(std::optional<std::int64_t>& out_ms) {
  return [&out_ms](const json::value& value) -> std::string {
    auto read = parse_duration_ms(measure_in(value));
    if (!read) return "must be a duration such as \"30s\", \"10m\" or \"1h30m\", or a number of seconds";
    out_ms = *read;
    return {};
  };
}

}  // namespace drover
