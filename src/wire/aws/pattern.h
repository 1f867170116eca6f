// A text in a policy that is compared with a text of the request. It may have the wildcards * and ?, and variables such
// as ${aws:username}, which are replaced by values of the request. Wildcards in such a value are plain characters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/aws/access_request.h"

namespace drover::aws {

enum class Wildcards : std::uint8_t { literal, expanded };
enum class Variables : std::uint8_t { literal, substituted };

enum class Comparison : std::uint8_t {
  exact,
  ignoring_case,
  arn,                // each of the six parts between colons separately: a wildcard does not match across a colon
  arn_of_any_region,  // as a text, but for the region of an ARN, which may be any: there is only one here
};

/// The outcome of a comparison. `unknown`: the request does not say enough, or the policy uses what is not supported.
enum class Match : std::uint8_t { no, yes, unknown };

class Pattern {
 public:
  Pattern(std::string_view text, Wildcards wildcards, Variables variables);

  /// `unknown` if a variable has no value in the context. The time is at worst proportional to the product of both
  /// lengths.
  Match matches(std::string_view text, Comparison comparison, const RequestContext& context) const;

 private:
  struct Variable {
    std::string key;
    std::optional<std::string> otherwise;
  };

  /// From "name" or "name, 'value if there is none'".
  static Variable variable_from(std::string_view body);
  /// The units with values in place of variables; nothing if one has no value. Stops short when the result is too long
  /// to match a text of `text_bytes`.
  std::optional<std::u16string> substituted(const RequestContext& context, std::size_t text_bytes) const;

  std::u16string units_;  // bytes, wildcards and references to variables
  std::vector<Variable> variables_;
};

/// `unknown` becomes the answer that is safe: a statement that allows does not apply, one that denies does.
enum class Unknown : std::uint8_t { is_no, is_yes };
inline bool holds(Match match, Unknown unknown) {
  return match == Match::yes || (match == Match::unknown && unknown == Unknown::is_yes);
}

}  // namespace drover::aws
