#include "keys/join_token.h"

#include <boost/json.hpp>

#include "base/text.h"
#include "wire/digest.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::string_view kJoinTokenPrefix = "drover-join-";
constexpr std::string_view kSpaces = " \t\r\n";
// Short names: people paste this.
constexpr const char* kAddresses = "a";
constexpr const char* kFingerprint = "f";
constexpr const char* kSecret = "s";

std::string_view without_white_space(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) + 1 - first);
}

}  // namespace

SecretText join_token_text(const JoinToken& token) {
  const json::object object{{kAddresses, json::value_from(token.addresses)},
                            {kFingerprint, token.ca_fingerprint},
                            {kSecret, token.secret.reveal()}};
  const SecretText text(json::serialize(object));
  return SecretText(concat(kJoinTokenPrefix, base64url(text.reveal())));
}

Result<JoinToken> parse_join_token(std::string_view text) {
  text = without_white_space(text);
  if (!text.starts_with(kJoinTokenPrefix)) {
    return fail(ErrorCode::bad_input, concat("a join token must begin with '", kJoinTokenPrefix, "'"),
                "paste the token printed by 'drover key join'");
  }
  const auto broken = [] {
    return fail(ErrorCode::bad_input, "the join token is incomplete",
                "paste the whole token that 'drover key join' printed");
  };
  const auto decoded = from_base64url(text.substr(kJoinTokenPrefix.size()));
  if (!decoded) return broken();
  try {
    const json::value value = json::parse(*decoded);
    const json::object& object = value.as_object();
    return JoinToken{.addresses = json::value_to<std::vector<std::string>>(object.at(kAddresses)),
                     .ca_fingerprint = json::value_to<std::string>(object.at(kFingerprint)),
                     .secret = SecretText(json::value_to<std::string>(object.at(kSecret)))};
  } catch (const std::exception&) {
    return broken();
  }
}

}  // namespace drover
