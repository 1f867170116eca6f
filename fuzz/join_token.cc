// A join token that somebody pasted, and the authority that a server sent.
#include "keys/join_token.h"
#include "fuzzed.h"
#include "keys/certificates.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  if (const auto token = parse_join_token(bytes)) {
    const auto again = parse_join_token(join_token_text(*token).reveal());
    DROVER_CHECK(again.has_value() && again->addresses == token->addresses &&
                     again->ca_fingerprint == token->ca_fingerprint && again->secret.reveal() == token->secret.reveal(),
                 "a token is read back");
  }
  if (const auto print = fingerprint(bytes)) {
    DROVER_CHECK(certificate_with_fingerprint(bytes, *print).has_value(), "a certificate has its own fingerprint");
  }
}

}  // namespace drover
