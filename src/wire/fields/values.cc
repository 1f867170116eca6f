#include "wire/fields/values.h"

#include <algorithm>
#include <boost/json.hpp>
#include <span>

#include "base/text.h"
#include "base/utf8.h"
#include "wire/container_words.h"
#include "wire/labels.h"
#include "wire/rules.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

struct Unit {
  std::uint64_t size;
  std::string_view name;
};
constexpr Unit kSizeUnits[] = {{std::uint64_t{1} << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};
constexpr Unit kTimeUnits[] = {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}};

// In the largest unit that leaves nothing over: 90000 ms is "90s".
std::string in_unit(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value > 0 && value % unit.size == 0) return concat("\"", value / unit.size, unit.name, "\"");
  }
  return concat("\"", value, units.back().name, "\"");
}

// 1500 is 1.5.
std::string thousandths(std::int64_t value) {
  std::string fraction = std::to_string(1000 + value % 1000).substr(1);
  while (fraction.ends_with('0')) fraction.pop_back();
  return concat(value / 1000, fraction.empty() ? "" : ".", fraction);
}

/// Each text of a list, by a reader of its own.
template <class Part>
void read_parts(JobReader& reader, const JobField& field, std::vector<Part>& out,
                Result<Part> (*from_text)(std::string_view)) {
  std::vector<std::string> texts;
  if (!reader.texts(field.name, texts)) return;
  out.clear();
  for (std::size_t i = 0; i < texts.size(); ++i) {
    auto part = from_text(texts[i]);
    if (part) {
      out.push_back(std::move(*part));
    } else {
      reader.complain_of_text(field.name, i, part.error());
    }
  }
}

template <class Part>
std::string parts_json(const std::vector<Part>& parts, std::string (*to_text)(const Part&)) {
  json::array out;
  for (const Part& part : parts) out.emplace_back(to_text(part));
  return json::serialize(out);
}

}  // namespace

void read_value(JobReader& reader, const JobField& field, std::string& out) {
  reader.text(field.name, out);
}
void read_value(JobReader& reader, const JobField& field, std::vector<std::pair<std::string, std::string>>& out) {
  reader.settings(field.name, out);
}
void read_value(JobReader& reader, const JobField& field, Labels& out) {
  reader.labels(field.name, out);
}
void read_value(JobReader& reader, const JobField& field, std::optional<std::vector<std::string>>& out) {
  if (std::vector<std::string> words; reader.texts(field.name, words)) out = std::move(words);
}
void read_value(JobReader& reader, const JobField& field, std::vector<ExitRule>& out) {
  reader.rules(field.name, out);
}
void read_value(JobReader& reader, const JobField& field, std::vector<After>& out) {
  reader.after(field.name, out);
}
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerMount>& out) {
  read_parts(reader, field, out, mount_from_text);
}
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerTmpfs>& out) {
  read_parts(reader, field, out, tmpfs_from_text);
}
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerDevice>& out) {
  read_parts(reader, field, out, device_from_text);
}
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerUlimit>& out) {
  read_parts(reader, field, out, ulimit_from_text);
}

bool read_choice(JobReader& reader, const JobField& field, std::size_t& out) {
  std::string said;
  reader.text(field.name, said);
  const std::vector<std::string_view> words = choices_of(field);
  const auto it = std::ranges::find(words, said);
  if (it == words.end()) return false;
  out = static_cast<std::size_t>(it - words.begin());
  return true;
}

std::string choice_json(const JobField& field, std::size_t chosen) {
  return json::serialize(json::string(choices_of(field).at(chosen)));
}

std::string json_of(const JobField& field, std::int64_t value) {
  switch (field.kind) {
    case FieldKind::time: return in_unit(static_cast<std::uint64_t>(value), kTimeUnits);
    case FieldKind::size: return in_unit(static_cast<std::uint64_t>(value), kSizeUnits);
    case FieldKind::real: return thousandths(value);
    default: return concat(value);
  }
}
std::string json_of(const JobField& /*field*/, const std::string& value) {
  return json::serialize(json::string(value));
}
std::string json_of(const JobField& /*field*/, const std::vector<std::string>& value) {
  return json::serialize(json::array(value.begin(), value.end()));
}
std::string json_of(const JobField& /*field*/, const std::vector<std::pair<std::string, std::string>>& value) {
  json::object out;
  for (const auto& [name, setting] : value) out[name] = setting;
  return json::serialize(out);
}
std::string json_of(const JobField& /*field*/, const Labels& value) {
  return labels_to_json(value);
}
std::string json_of(const JobField& field, const std::optional<std::vector<std::string>>& value) {
  return value ? json_of(field, *value) : std::string();
}
std::string json_of(const JobField& /*field*/, const std::vector<ExitRule>& value) {
  return rules_to_json(value);
}
std::string json_of(const JobField& /*field*/, const std::vector<After>& value) {
  json::array out;
  for (const After& one : value) {
    out.push_back(one.each ? json::value(json::object{{"job", one.job}, {"each", true}})
                           : json::value(json::string(one.job)));
  }
  return json::serialize(out);
}
std::string json_of(const JobField& /*field*/, const std::vector<ContainerMount>& value) {
  return parts_json(value, mount_to_text);
}
std::string json_of(const JobField& /*field*/, const std::vector<ContainerTmpfs>& value) {
  return parts_json(value, tmpfs_to_text);
}
std::string json_of(const JobField& /*field*/, const std::vector<ContainerDevice>& value) {
  return parts_json(value, device_to_text);
}
std::string json_of(const JobField& /*field*/, const std::vector<ContainerUlimit>& value) {
  return parts_json(value, ulimit_to_text);
}
std::string json_of(const JobField& /*field*/, const std::array<std::uint64_t, kAccelerators>& value) {
  json::object out;
  for (std::size_t kind = 0; kind < value.size(); ++kind) {
    if (value[kind] > 0) out[kAcceleratorNames[kind]] = value[kind];
  }
  return json::serialize(out);
}

json::value shown_json(const JobField& /*field*/, bool value) {
  return value;
}
json::value shown_json(const JobField& field, std::int64_t value) {
  return value < field.least ? json::value(nullptr) : json::value(value);
}
json::value shown_json(const JobField& /*field*/, const std::string& value) {
  return value.empty() ? json::value(nullptr) : json::value(utf8(value));
}
json::value shown_json(const JobField& /*field*/, const Labels& value) {
  return labels_json(value);
}
json::value shown_choice(const JobField& field, std::size_t chosen) {
  return json::value(choices_of(field).at(chosen));
}

}  // namespace drover
