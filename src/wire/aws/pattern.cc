#include "wire/aws/pattern.h"

#include <algorithm>

namespace drover::aws {
namespace {

// A unit below kAnyCharacter is a byte, one from kFirstVariable on the number of a variable.
constexpr char16_t kAnyCharacter = 0x100;
constexpr char16_t kAnyRun = 0x101;
constexpr char16_t kFirstVariable = 0x200;
constexpr std::size_t kMostVariables = 0xffff - kFirstVariable;

constexpr std::size_t kArnParts = 6;

char16_t unit_of(char byte) {
  return static_cast<unsigned char>(byte);
}

void append_bytes(std::u16string& units, std::string_view bytes) {
  for (const char byte : bytes) units += unit_of(byte);
}

/// Where the UTF-8 character that begins at `at` ends.
std::size_t after_character(std::string_view text, std::size_t at) {
  ++at;
  while (at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) ++at;
  return at;
}

bool is_same_byte(char16_t unit, char byte, Comparison comparison) {
  if (unit == unit_of(byte)) return true;
  return comparison == Comparison::ignoring_case && unit < 0x80 &&
         ascii_lower(static_cast<char>(unit)) == ascii_lower(byte);
}

/// Remembers only the last run: if the rest does not fit behind it, a longer earlier run does not help either.
bool fits(std::u16string_view pattern, std::string_view text, Comparison comparison) {
  std::size_t unit = 0;
  std::size_t byte = 0;
  std::size_t after_run = std::u16string_view::npos;
  std::size_t run_end = 0;
  while (byte < text.size()) {
    if (unit < pattern.size() && pattern[unit] == kAnyRun) {
      after_run = ++unit;
      run_end = byte;
      if (unit == pattern.size()) return true;
    } else if (unit < pattern.size() && pattern[unit] == kAnyCharacter) {
      ++unit;
      byte = after_character(text, byte);
    } else if (unit < pattern.size() && is_same_byte(pattern[unit], text[byte], comparison)) {
      ++unit;
      ++byte;
    } else if (after_run != std::u16string_view::npos) {
      unit = after_run;
      run_end = after_character(text, run_end);
      byte = run_end;
    } else {
      return false;
    }
  }
  return std::ranges::all_of(pattern.substr(unit), [](char16_t left) { return left == kAnyRun; });
}

/// The parts between the first five colons. Fewer than six: not an ARN.
template <class Text>
std::vector<Text> arn_parts(Text text) {
  std::vector<Text> parts;
  while (parts.size() + 1 < kArnParts) {
    const std::size_t colon = text.find(':');
    if (colon == Text::npos) return {};
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  parts.push_back(text);
  return parts;
}

bool fits_arn(std::u16string_view pattern, std::string_view text) {
  const auto texts = arn_parts(text);
  if (texts.empty()) return false;
  // A lone * has no six parts, but is commonly used for any ARN.
  if (pattern.size() == 1 && pattern.front() == kAnyRun) return true;
  const auto patterns = arn_parts(pattern);
  return !patterns.empty() && std::ranges::equal(patterns, texts, [](std::u16string_view one, std::string_view part) {
    return fits(one, part, Comparison::exact);
  });
}

/// Positions in a pattern that can be reached by a text: what follows must fit from one of them on.
class Reached {
 public:
  explicit Reached(std::u16string_view pattern) : pattern_(pattern) { add(at_, 0); }

  void take(std::string_view text) {
    for (const char byte : text) {
      if (at_.empty()) return;
      const bool continues = (static_cast<unsigned char>(byte) & 0xc0) == 0x80;
      next_.clear();
      for (const std::size_t i : at_) {
        // Of the character that was taken for a '?'.
        if (continues && i > 0 && pattern_[i - 1] == kAnyCharacter) add(next_, i);
        if (i == pattern_.size()) continue;
        if (pattern_[i] == kAnyRun) add(next_, i);
        if (pattern_[i] == kAnyCharacter ? !continues : pattern_[i] == unit_of(byte)) add(next_, i + 1);
      }
      at_.swap(next_);
    }
  }

  /// Any text without this byte.
  void take_any_without(char byte) {
    std::vector<bool> is_reached(pattern_.size() + 1);
    for (const std::size_t i : at_) is_reached[i] = true;
    at_.clear();
    for (std::size_t i = 0; i <= pattern_.size(); ++i) {
      if (!is_reached[i]) continue;
      at_.push_back(i);
      if (i < pattern_.size() && pattern_[i] != unit_of(byte)) is_reached[i + 1] = true;
    }
  }

  bool is_end() const { return !at_.empty() && at_.back() == pattern_.size(); }

 private:
  /// In ascending order. A run of any length may be empty.
  void add(std::vector<std::size_t>& to, std::size_t i) const {
    while (true) {
      if (to.empty() || to.back() < i) to.push_back(i);
      if (i == pattern_.size() || pattern_[i] != kAnyRun) return;
      ++i;
    }
  }

  std::u16string_view pattern_;
  std::vector<std::size_t> at_;
  std::vector<std::size_t> next_;
};

bool fits_in_any_region(std::u16string_view pattern, std::string_view text) {
  constexpr std::size_t kRegion = 3;
  const auto parts = arn_parts(text);
  if (parts.empty() || parts.front() != "arn") return fits(pattern, text, Comparison::exact);
  const auto begin = static_cast<std::size_t>(parts[kRegion].data() - text.data());
  Reached reached(pattern);
  reached.take(text.substr(0, begin));
  reached.take_any_without(':');
  reached.take(text.substr(begin + parts[kRegion].size()));
  return reached.is_end();
}

std::string_view without_spaces(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

}  // namespace

Pattern::Variable Pattern::variable_from(std::string_view body) {
  const std::size_t comma = body.find(',');
  Variable variable{std::string(without_spaces(body.substr(0, comma))), {}};
  if (comma == std::string_view::npos) return variable;
  const std::string_view value = without_spaces(body.substr(comma + 1));
  if (value.size() >= 2 && value.starts_with('\'') && value.ends_with('\'')) {
    variable.otherwise = value.substr(1, value.size() - 2);
  }
  return variable;
}

Pattern::Pattern(std::string_view text, Wildcards wildcards, Variables variables) {
  while (!text.empty()) {
    const std::size_t end = text.starts_with("${") ? text.find('}') : std::string_view::npos;
    if (variables == Variables::substituted && end != std::string_view::npos && variables_.size() < kMostVariables) {
      const std::string_view body = text.substr(2, end - 2);
      text.remove_prefix(end + 1);
      if (body == "*" || body == "?" || body == "$") {
        units_ += unit_of(body.front());
        continue;
      }
      units_ += static_cast<char16_t>(kFirstVariable + variables_.size());
      variables_.push_back(variable_from(body));
      continue;
    }
    const char byte = text.front();
    text.remove_prefix(1);
    if (wildcards == Wildcards::expanded && byte == '*') {
      if (!units_.ends_with(kAnyRun)) units_ += kAnyRun;
    } else if (wildcards == Wildcards::expanded && byte == '?') {
      units_ += kAnyCharacter;
    } else {
      units_ += unit_of(byte);
    }
  }
}

std::optional<std::u16string> Pattern::substituted(const RequestContext& context, std::size_t text_bytes) const {
  std::u16string out;
  std::size_t least_bytes = 0;  // of a text that matches
  for (const char16_t unit : units_) {
    if (unit < kFirstVariable) {
      out += unit;
      if (unit != kAnyRun) ++least_bytes;
      continue;
    }
    const Variable& variable = variables_[unit - kFirstVariable];
    const auto values = context.find(variable.key);
    const bool is_known = values != context.end() && values->second.size() == 1;
    if (!is_known && !variable.otherwise) return std::nullopt;
    if (least_bytes > text_bytes) continue;
    const std::string& value = is_known ? values->second.front() : *variable.otherwise;
    append_bytes(out, value);
    least_bytes += value.size();
  }
  return out;
}

Match Pattern::matches(std::string_view text, Comparison comparison, const RequestContext& context) const {
  const auto compared = [&](std::u16string_view units) {
    const bool is_match = comparison == Comparison::arn                 ? fits_arn(units, text)
                          : comparison == Comparison::arn_of_any_region ? fits_in_any_region(units, text)
                                                                        : fits(units, text, comparison);
    return is_match ? Match::yes : Match::no;
  };
  if (variables_.empty()) return compared(units_);
  // Of any region, that of the pattern may be longer than that of the text.
  const bool any_region = comparison == Comparison::arn_of_any_region;
  const auto units = substituted(context, text.size() + (any_region ? units_.size() : 0));
  return units ? compared(*units) : Match::unknown;
}

}  // namespace drover::aws
