// Who a server is to those who ask it in private.
#pragma once

#include <string>

namespace drover {

struct TlsIdentity {
  std::string certificate_pem;  // the server's own first, then those that vouch for it
  std::string key_pem;
};

}  // namespace drover
