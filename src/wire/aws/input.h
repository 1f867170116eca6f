// An operation's input, read by its description: every member that a client sent is one that there is, of its type and
// within its bounds, and none that is required is missing.
//
// Whatever the protocol, the result is the same: strings, whole numbers as int64, real numbers as double, times as
// int64 milliseconds since 1970, blobs as a string of their bytes. A member that was not sent, or sent as null, is not
// in it.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "base/url.h"
#include "wire/aws/model.h"

namespace drover::aws {

struct BadInput {
  std::string member;       // "containerOverrides.environment[2].name"; empty: the input as a whole
  std::string reason;       // "must be a string"
  bool is_missing = false;  // a member that is required was not sent

  std::string text() const { return member.empty() ? reason : member + " " + reason; }
};

using Input = std::expected<boost::json::object, BadInput>;

/// From a JSON body; an empty one has no members. Members of the path, the query and headers are taken from `others`,
/// by their names on the wire.
Input read_json_input(const Shape& input, std::string_view body, const QueryPairs& others = {});

enum class QueryDialect : std::uint8_t {
  query,  // Names.member.1.Key=…
  ec2,    // Name.1.Key=…, the first letter always a capital
};

/// From the parameters of a Query request, without Action, Version and those of a signature.
Input read_query_input(const Shape& input, const QueryPairs& pairs, QueryDialect dialect);

/// One value from text, as a path, a query or a header has it.
std::expected<boost::json::value, BadInput> read_text(const Shape& shape, std::string_view text);

/// What of a value that has the right types is missing or out of bounds.
std::expected<void, BadInput> check_bounds(const Shape& structure, const boost::json::object& value);

}  // namespace drover::aws
