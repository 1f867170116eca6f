#include "api/logs/filter_pattern.h"

#include <algorithm>

#include "base/text.h"

namespace drover::aws {
namespace {

constexpr std::string_view kBlank = " \t";

std::unexpected<Error> bad_pattern(std::string_view why) {
  return fail(ErrorCode::bad_input, concat("Invalid filter pattern: ", why));
}

/// What stands between quotes at the front of `rest`, which begins behind the first; \" is a quote.
Result<std::string> take_phrase(std::string_view& rest) {
  std::string out;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    if (rest[i] == '"') {
      rest.remove_prefix(i + 1);
      return out;
    }
    if (rest[i] == '\\' && i + 1 < rest.size()) ++i;
    out += rest[i];
  }
  return bad_pattern("a quote is not closed");
}

}  // namespace

Result<FilterPattern> FilterPattern::parse(std::string_view text) {
  FilterPattern out;
  std::string_view rest = text;
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlank), rest.size()));
    if (rest.empty()) return out;
    if (rest.front() == '{') return bad_pattern("selectors for JSON are not supported; search for terms");
    if (rest.front() == '[') return bad_pattern("columns are not supported; search for terms");
    if (rest.front() == '%') return bad_pattern("regular expressions are not supported; 'drover logs --grep' has them");
    std::vector<std::string>* into = &out.required_;
    if (rest.front() == '?' || rest.front() == '-') {
      into = rest.front() == '?' ? &out.optional_ : &out.excluded_;
      rest.remove_prefix(1);
    }
    if (rest.starts_with('"')) {
      rest.remove_prefix(1);
      auto phrase = take_phrase(rest);
      if (!phrase) return pass(phrase);
      into->push_back(std::move(*phrase));
      continue;
    }
    const std::string_view term = rest.substr(0, rest.find_first_of(kBlank));
    if (term.empty()) return bad_pattern("a term is empty");
    into->emplace_back(term);
    rest.remove_prefix(term.size());
  }
}

bool FilterPattern::matches(std::string_view line) const {
  const auto is_in = [&](const std::string& term) { return line.contains(term); };
  if (std::ranges::any_of(excluded_, is_in) || !std::ranges::all_of(required_, is_in)) return false;
  // Beside terms that are required, optional ones decide nothing.
  return optional_.empty() || !required_.empty() || std::ranges::any_of(optional_, is_in);
}

}  // namespace drover::aws
