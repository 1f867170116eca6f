// Which registries a server asks what a tag means. Whoever may submit a job chooses the name of its image, so without
// such a list they would choose whom the server connects to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover {

/// One that may be asked.
struct RegistryRule {
  enum class Security : std::uint8_t {
    tls,         // with a certificate that is trusted
    unverified,  // with any certificate, or without TLS
    plain,       // without TLS
  };

  std::string host;  // HOST[:PORT], as in the name of an image
  Security security = Security::tls;
  bool was_named = false;    // by the operator: it may have a private address
  std::string ca_file = {};  // if it is there, the authorities in it alone are trusted

  bool allows_plain_http() const { return security != Security::tls; }
};

class RegistryRules {
 public:
  /// The public registries that are allowed unless the operator names others.
  static RegistryRules usual();
  /// As the operator names them: HOST[:PORT], or http://HOST[:PORT] for one without TLS. `none` alone: no registry.
  static Result<RegistryRules> parse(const std::vector<std::string>& names);

  /// One more. One that is there already is replaced.
  void add(RegistryRule rule);
  /// With `hosts` any certificate is accepted, and plain HTTP, if they are allowed at all.
  void do_not_verify(const std::vector<std::string>& hosts);

  /// nullptr: it may not be asked.
  const RegistryRule* find(std::string_view host) const;
  /// Whether the operator has named the place that this URL's host and port are.
  bool names(std::string_view scheme, std::string_view host, std::string_view port) const;

 private:
  std::vector<RegistryRule> rules_;
};

/// Where the registry of that name answers: Docker's is at another one.
std::string registry_endpoint(std::string_view host);

}  // namespace drover
