#include "net/tls_context.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace drover {
namespace {

template <auto Free>
struct FreedBy {
  template <class T>
  void operator()(T* thing) const {
    Free(thing);
  }
};
using UniqueBio = std::unique_ptr<BIO, FreedBy<BIO_free>>;
using UniqueX509 = std::unique_ptr<X509, FreedBy<X509_free>>;
using UniqueKey = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;

UniqueBio reader(const std::string& pem) {
  return UniqueBio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

/// Without it OpenSSL asks the terminal.
int no_password(char*, int, int, void*) {
  return 0;
}

std::unexpected<Error> refused(const char* what) {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return fail(ErrorCode::bad_input, std::string(what) + (reason ? std::string(": ") + reason : std::string()),
              "use unencrypted PEM files, with the server's own certificate first");
}

}  // namespace

void TlsContext::Deleter::operator()(ssl_ctx_st* context) const {
  SSL_CTX_free(context);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::make(const TlsIdentity& identity) {
  ERR_clear_error();
  auto made = std::make_shared<TlsContext>();
  made->context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = made->context_.get();
  if (context == nullptr) return refused("cannot set up TLS");
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                   SSL_OP_IGNORE_UNEXPECTED_EOF);
  // Idle connections hold no buffers, and what is left of a write may be asked for again from elsewhere.
  SSL_CTX_set_mode(context,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);

  const UniqueBio certificates = reader(identity.certificate_pem);
  const UniqueX509 own(PEM_read_bio_X509(certificates.get(), nullptr, no_password, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) return refused("the certificate cannot be read");
  while (X509* next = PEM_read_bio_X509(certificates.get(), nullptr, no_password, nullptr)) {
    if (SSL_CTX_add0_chain_cert(context, next) == 1) continue;
    X509_free(next);
    return refused("the intermediate certificates are invalid");
  }
  ERR_clear_error();

  const UniqueBio key_text = reader(identity.key_pem);
  const UniqueKey key(PEM_read_bio_PrivateKey(key_text.get(), nullptr, no_password, nullptr));
  if (!key || SSL_CTX_use_PrivateKey(context, key.get()) != 1)
    return refused("the key cannot be read, or does not match the certificate");
  if (SSL_CTX_check_private_key(context) != 1) return refused("the key does not match the certificate");
  return made;
}

UniqueSsl TlsContext::accept(int socket) const {
  UniqueSsl ssl(SSL_new(context_.get()));
  if (ssl && SSL_set_fd(ssl.get(), socket) != 1) ssl.reset();
  return ssl;
}

}  // namespace drover
