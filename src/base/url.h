// The pieces of a request's target: pure, and at home with whatever a stranger sends.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drover {

/// "a%20b" → "a b". Nothing: an escape is cut short or no hexadecimal number. '+' stays what it is.
std::optional<std::string> percent_decoded(std::string_view text);

/// "a b/c" → "a%20b%2Fc": all but the characters that RFC 3986 calls unreserved.
std::string percent_encoded(std::string_view text);

/// "/jobs/a%2Fb/" → "jobs", "a/b", "": split first, decoded then, so that an escaped slash separates nothing. "/" has
/// one empty segment. Nothing: an escape is broken, or the path does not begin with a slash.
std::optional<std::vector<std::string>> path_segments(std::string_view path);

using QueryPairs = std::vector<std::pair<std::string, std::string>>;

/// "a=1&b=x+y&c" → {a, 1}, {b, "x y"}, {c, ""}, in their order. Nothing: an escape is broken.
std::optional<QueryPairs> query_pairs(std::string_view query);

}  // namespace drover
