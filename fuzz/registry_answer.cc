// What a registry says: how to log in, and the logins that are kept for it.
#include "fuzzed.h"
#include "net/registry_client.h"
#include "net/registry_rules.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  if (const auto challenge = parse_challenge(bytes)) {
    DROVER_CHECK(challenge->realm.size() + challenge->service.size() + challenge->scope.size() <= bytes.size(),
                 "reading makes nothing longer");
  }
  if (const auto login = login_for(bytes, "docker.io")) {
    DROVER_CHECK(login->contains(':'), "a login has a user and a password");
  }
  if (const auto rules = RegistryRules::parse({std::string(bytes)})) {
    DROVER_CHECK(bytes == "none" || rules->find(bytes.substr(bytes.rfind('/') + 1)) != nullptr,
                 "what is named is allowed");
  }
}

}  // namespace drover
