#include "objects/row_text.h"

#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "ports/entropy.h"

namespace drover {
namespace {

std::optional<DataPlace> place_from(std::string_view text) {
  if (text.empty() || (text[0] != 'f' && text[0] != 's')) return std::nullopt;
  DataPlace out{.is_file = text[0] == 'f'};
  text.remove_prefix(1);
  const auto number = parse_number(take_until(text, ':'));
  const auto size = parse_number(take_until(text, '@'));
  const auto offset = text.empty() ? 0 : parse_number(text);
  if (!number || !size || !offset) return std::nullopt;
  out.number = *number;
  out.size = *size;
  out.offset = *offset;
  return out;
}

std::string as_hex(std::uint64_t number) {
  std::string out;
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[number >> shift & 15];
  return out;
}

}  // namespace

std::string text_of(const std::vector<DataPlace>& places) {
  std::string out;
  for (const DataPlace& it : places) {
    out += concat(out.empty() ? "" : " ", it.is_file ? 'f' : 's', it.number, ":", it.size);
    if (it.offset > 0) out += concat("@", it.offset);
  }
  return out;
}

Result<std::vector<DataPlace>> places_from(std::string_view text, std::string_view key) {
  std::vector<DataPlace> out;
  while (!text.empty()) {
    const auto place = place_from(take_until(text, ' '));
    if (!place) return fail(ErrorCode::damaged, concat("the row of the object '", key, "' is damaged"));
    out.push_back(*place);
  }
  return out;
}

std::string text_of(const ObjectHeaders& headers) {
  std::string out;
  for (const auto& [name, value] : headers) out += concat(name, ": ", value, "\n");
  return out;
}

ObjectHeaders headers_from(std::string_view text) {
  ObjectHeaders out;
  while (!text.empty()) {
    const std::string_view line = take_until(text, '\n');
    const std::size_t colon = line.find(": ");
    if (colon != std::string_view::npos) out.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  }
  return out;
}

std::string text_of(const std::vector<std::uint64_t>& numbers) {
  std::string out;
  for (const std::uint64_t it : numbers) out += concat(out.empty() ? "" : " ", it);
  return out;
}

std::vector<std::uint64_t> numbers_from(std::string_view text) {
  std::vector<std::uint64_t> out;
  while (!text.empty()) out.push_back(parse_number(take_until(text, ' ')).value_or(0));
  return out;
}

std::string id_with(std::uint64_t sequence) {
  return as_hex(sequence) + as_hex(random_number());
}

std::optional<std::uint64_t> sequence_in(std::string_view id) {
  constexpr std::size_t kDigits = 16;
  std::uint64_t out = 0;
  if (id.size() < kDigits) return std::nullopt;
  for (const char c : id.substr(0, kDigits)) {
    const int digit = hex_value(c);
    if (digit < 0) return std::nullopt;
    out = out << 4 | static_cast<std::uint64_t>(digit);
  }
  return out;
}

}  // namespace drover
