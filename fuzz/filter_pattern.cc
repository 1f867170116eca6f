// What a client looks for in logs: a line that is searched, then a pattern. The rest of the lines are terms, of which
// patterns are made whose meaning is known.
#include "api/logs/filter_pattern.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "fuzzed.h"

namespace drover {
namespace {

std::string_view take_line(std::string_view& rest) {
  const std::string_view line = rest.substr(0, rest.find('\n'));
  rest.remove_prefix(std::min(line.size() + 1, rest.size()));
  return line;
}

std::string quoted(std::string_view term) {
  std::string out = "\"";
  for (const char c : term) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

bool finds(const std::string& pattern, std::string_view line) {
  const auto parsed = aws::FilterPattern::parse(pattern);
  DROVER_CHECK(parsed.has_value(), "quoted terms are a pattern");
  return parsed->matches(line);
}

/// The terms, each behind a sign.
std::string all_of(const std::vector<std::string_view>& terms, std::string_view sign) {
  std::string out;
  for (const std::string_view term : terms) out += concat(sign, quoted(term), " ");
  return out;
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  const std::string_view line = take_line(bytes);
  const std::string pattern(take_line(bytes));
  const auto parsed = aws::FilterPattern::parse(pattern);
  if (parsed) {
    DROVER_CHECK(finds(concat(" ", pattern, "\t"), line) == parsed->matches(line), "blanks mean nothing");
    DROVER_CHECK(!finds(concat(pattern, " -", quoted(line)), line), "a line that is excluded does not match");
  } else {
    DROVER_CHECK(!parsed.error().message.empty(), "a refusal has a reason");
  }

  std::vector<std::string_view> terms;
  while (!bytes.empty()) terms.push_back(take_line(bytes));
  const auto is_in = [&](std::string_view term) { return line.contains(term); };
  const bool has_any = std::ranges::any_of(terms, is_in);
  DROVER_CHECK(finds(all_of(terms, ""), line) == std::ranges::all_of(terms, is_in), "all terms must be there");
  DROVER_CHECK(finds(all_of(terms, "?"), line) == (terms.empty() || has_any), "one optional term must be there");
  DROVER_CHECK(finds(all_of(terms, "-"), line) == !has_any, "no excluded term may be there");
}

}  // namespace drover
