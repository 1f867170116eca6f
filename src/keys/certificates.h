// A certificate authority of one server, and the certificates it signs: EC P-256, SHA-256. The authority lives in two
// files; a server's certificate is issued at each start, for the names it has then, and lives in memory alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "keys/secret_text.h"

namespace drover {

/// A certificate and its private key, as PEM.
struct Certificate {
  std::string pem;
  SecretText key_pem;
};

/// What signs certificates.
struct Authority {
  Certificate own;

  /// Loads ca.pem and ca.key from a folder; at first makes them, good for ten years. Refuses a key that others can
  /// read, one that does not fit its certificate, and an authority that has expired.
  static Result<Authority> open(const std::string& folder, std::int64_t now_ms);
};

inline constexpr int kAuthorityDays = 3652;
/// The longest that every client takes from an authority of one's own.
inline constexpr int kServerDays = 825;

Result<Authority> make_authority(const std::string& common_name, std::int64_t now_ms);

struct CertificateRequest {
  std::vector<std::string> names;  // under which clients reach the server: host names and IP addresses
  int valid_days = kServerDays;    // but not beyond the authority's own end
};

/// For a server, from a day before now on: clocks differ.
Result<Certificate> issue_certificate(const Authority& authority, const CertificateRequest& request,
                                      std::int64_t now_ms);

/// SHA-256 of the certificate's DER, as 64 hex digits. The text must hold exactly one certificate.
Result<std::string> fingerprint(std::string_view pem);

/// The certificate with this fingerprint, out of a text from somewhere that cannot be trusted: written anew, so that
/// nothing else that the text holds comes along. `denied` if it is another.
Result<std::string> certificate_with_fingerprint(std::string_view pem, std::string_view expected);

}  // namespace drover
