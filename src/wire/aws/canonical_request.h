// The text of a request that signature version 4 covers: method, path, query, headers, the names of those headers and
// what stands for the body, each on its line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wire/aws/request.h"
#include "wire/aws/signing_key.h"

namespace drover::aws {

/// The parameters decoded, encoded as RFC 3986 has it, sorted by name and then by value, without X-Amz-Signature.
/// Nothing: an escape is broken.
std::optional<std::string> canonical_query(std::string_view query);

/// S3 signs the path as it is sent; other services encode it once more. No segment is removed, not even "..": what is
/// signed is what the service sees.
std::string canonical_path(std::string_view path, std::string_view service);

struct CanonicalHeaders {
  std::string text;        // "host:example.com\nx-amz-date:20261115T005637Z\n"
  std::string missing;     // names that are in the list and were not sent, such as "a, b"
  std::string not_signed;  // "host" and names with "x-amz-" that were sent and are not in the list
};

/// `signed_headers` is sorted: SignedRequest has such a list.
CanonicalHeaders canonical_headers(std::span<const Header> headers, std::string_view signed_headers);

/// Everything but the last line, what stands for the body; `query` and `headers` in their canonical form.
std::string canonical_head(const Request& request, std::string_view service, std::string_view query,
                           std::string_view headers, std::string_view signed_headers);

/// What the key signs.
std::string string_to_sign(std::string_view date, const SigningScope& scope, std::string_view canonical_request);

/// "two  spaces " → "two spaces".
void append_canonical_value(std::string& out, std::string_view value);

}  // namespace drover::aws
