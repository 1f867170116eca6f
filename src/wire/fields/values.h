// How a value of each type that a submission has is read from a document, and written as JSON. What is not said leaves
// the value as it is; of environments and labels each member counts for itself.
#pragma once

#include <array>
#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "wire/submission.h"

namespace drover {

template <class Number>
  requires std::is_integral_v<Number>
void read_value(JobReader& reader, const JobField& field, Number& out) {
  if constexpr (std::is_same_v<Number, bool>) {
    reader.flag(field.name, out);
  } else if (field.kind == FieldKind::whole) {
    reader.whole(field.name, out);
  } else {
    auto value = static_cast<std::int64_t>(out);
    reader.measure(field, value);
    out = static_cast<Number>(value);
  }
}
void read_value(JobReader& reader, const JobField& field, std::string& out);
void read_value(JobReader& reader, const JobField& field, std::vector<std::pair<std::string, std::string>>& out);
void read_value(JobReader& reader, const JobField& field, Labels& out);
void read_value(JobReader& reader, const JobField& field, std::optional<std::vector<std::string>>& out);
void read_value(JobReader& reader, const JobField& field, std::vector<ExitRule>& out);
void read_value(JobReader& reader, const JobField& field, std::vector<After>& out);
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerMount>& out);
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerTmpfs>& out);
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerDevice>& out);
void read_value(JobReader& reader, const JobField& field, std::vector<ContainerUlimit>& out);

/// The words of a choice stand in the table in the order of the enumeration.
bool read_choice(JobReader& reader, const JobField& field, std::size_t& out);
template <class Choice>
  requires std::is_enum_v<Choice>
void read_value(JobReader& reader, const JobField& field, Choice& out) {
  if (std::size_t chosen = 0; read_choice(reader, field, chosen)) out = static_cast<Choice>(chosen);
}

/// Times and sizes with their unit, CPUs as a fraction: as people write them.
std::string json_of(const JobField& field, std::int64_t value);
template <class Number>
  requires std::is_integral_v<Number>
std::string json_of(const JobField& field, Number value) {
  if constexpr (std::is_same_v<Number, bool>) {
    return value ? "true" : "false";
  } else {
    return json_of(field, static_cast<std::int64_t>(value));
  }
}
std::string json_of(const JobField& field, const std::string& value);
std::string json_of(const JobField& field, const std::vector<std::string>& value);
std::string json_of(const JobField& field, const std::vector<std::pair<std::string, std::string>>& value);
std::string json_of(const JobField& field, const Labels& value);
/// Empty: there is nothing to write.
std::string json_of(const JobField& field, const std::optional<std::vector<std::string>>& value);
std::string json_of(const JobField& field, const std::vector<ExitRule>& value);
std::string json_of(const JobField& field, const std::vector<After>& value);
std::string json_of(const JobField& field, const std::vector<ContainerMount>& value);
std::string json_of(const JobField& field, const std::vector<ContainerTmpfs>& value);
std::string json_of(const JobField& field, const std::vector<ContainerDevice>& value);
std::string json_of(const JobField& field, const std::vector<ContainerUlimit>& value);
std::string json_of(const JobField& field, const std::array<std::uint64_t, kAccelerators>& value);

std::string choice_json(const JobField& field, std::size_t chosen);
template <class Choice>
  requires std::is_enum_v<Choice>
std::string json_of(const JobField& field, Choice value) {
  return choice_json(field, static_cast<std::size_t>(value));
}

// As views have it: times in milliseconds, sizes in bytes; null: not set.
boost::json::value shown_json(const JobField& field, bool value);
boost::json::value shown_json(const JobField& field, std::int64_t value);
boost::json::value shown_json(const JobField& field, const std::string& value);
boost::json::value shown_json(const JobField& field, const Labels& value);
boost::json::value shown_choice(const JobField& field, std::size_t chosen);
template <class Choice>
  requires std::is_enum_v<Choice>
boost::json::value shown_json(const JobField& field, Choice value) {
  return shown_choice(field, static_cast<std::size_t>(value));
}

}  // namespace drover
