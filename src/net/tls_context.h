// What a server agrees to speak in private, as whom.
#pragma once

#include <memory>

#include "base/result.h"
#include "net/channel.h"
#include "net/tls_identity.h"

struct ssl_ctx_st;

namespace drover {

class TlsContext {
 public:
  static Result<std::shared_ptr<const TlsContext>> make(const TlsIdentity& identity);

  /// The server's side of a connection; nothing if memory is short.
  UniqueSsl accept(int socket) const;

 private:
  struct Deleter {
    void operator()(ssl_ctx_st* context) const;
  };
  std::unique_ptr<ssl_ctx_st, Deleter> context_;
};

}  // namespace drover
