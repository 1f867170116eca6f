#include "net/server_probe.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>

#include "base/text.h"

namespace drover {
namespace {

using Clock = std::chrono::steady_clock;

std::int64_t left_ms(Clock::time_point until) {
  return std::max<std::int64_t>(0, std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count());
}

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

struct FreeAddresses {
  void operator()(addrinfo* it) const { freeaddrinfo(it); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

bool wait_for(int descriptor, short events, Clock::time_point until) {
  pollfd one{descriptor, events, 0};
  while (true) {
    const int ready = ::poll(&one, 1, static_cast<int>(left_ms(until)));
    if (ready >= 0 || errno != EINTR) return ready > 0;
  }
}

/// A socket that is connected and does not block.
Result<Socket> connect_to(const std::string& address, const std::string& port, Clock::time_point until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) {
    return fail(ErrorCode::bad_input, concat("invalid port '", port, "'"));
  }
  const Addresses guard(found);
  Socket socket(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0) return std::unexpected(errno_error(errno, address));
  if (::connect(socket.get(), found->ai_addr, found->ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return std::unexpected(errno_error(errno, concat(address, " port ", port)));
    if (!wait_for(socket.get(), POLLOUT, until)) {
      return fail(ErrorCode::timeout, concat(address, " port ", port, " does not respond"));
    }
    int trouble = 0;
    socklen_t size = sizeof trouble;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &trouble, &size);
    if (trouble != 0) return std::unexpected(errno_error(trouble, concat(address, " port ", port)));
  }
  return socket;
}

Result<Socket> connect_to_any(const std::vector<std::string>& addresses, const std::string& port,
                              Clock::time_point until) {
  Result<Socket> connected = fail(ErrorCode::unreachable, "no address to connect to");
  for (const std::string& address : addresses) {
    connected = connect_to(address, port, until);
    if (connected) break;
  }
  return connected;
}

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* it) const {
    kFree(it);
  }
};
using Context = std::unique_ptr<SSL_CTX, Free<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Free<SSL_free>>;
using Peer = std::unique_ptr<X509, Free<X509_free>>;
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;

void trust(SSL_CTX* context, const std::optional<std::string>& ca_pem) {
  if (!ca_pem) {
    SSL_CTX_set_default_verify_paths(context);
    return;
  }
  const Bio bio(BIO_new_mem_buf(ca_pem->data(), static_cast<int>(ca_pem->size())));
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  while (const Peer one{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) X509_STORE_add_cert(store, one.get());
  ERR_clear_error();
}

bool is_address(const std::string& host) {
  in6_addr room{};
  return inet_pton(AF_INET, host.c_str(), &room) == 1 || inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

std::int64_t epoch_ms(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? std::int64_t{timegm(&parts)} * 1000 : 0;
}

Result<void> shake_hands(SSL* session, int socket, Clock::time_point until) {
  while (true) {
    ERR_clear_error();
    const int done = SSL_connect(session);
    if (done == 1) return {};
    switch (SSL_get_error(session, done)) {
      case SSL_ERROR_WANT_READ:
        if (wait_for(socket, POLLIN, until)) continue;
        return fail(ErrorCode::timeout, "the server did not complete the TLS handshake");
      case SSL_ERROR_WANT_WRITE:
        if (wait_for(socket, POLLOUT, until)) continue;
        return fail(ErrorCode::timeout, "the server did not complete the TLS handshake");
      default: break;
    }
    char reason[256] = "the connection was closed";
    bool is_plain = false;
    if (const unsigned long code = ERR_peek_last_error(); code != 0) {
      is_plain = ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER;
      if (const char* words = ERR_reason_error_string(code); words != nullptr) {
        std::strncpy(reason, words, sizeof reason - 1);
      }
    }
    ERR_clear_error();
    if (is_plain) return fail(ErrorCode::io, "the server does not use TLS on this port");
    return fail(ErrorCode::io, concat("the TLS handshake failed: ", reason));
  }
}

}  // namespace

std::optional<ServerPlace> parse_place(const std::string& address) {
  ServerPlace place;
  std::string_view rest = address;
  if (rest.starts_with("https://")) {
    place.encrypted = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  rest = rest.substr(0, rest.find_first_of("/?#"));
  place.port = place.encrypted ? "443" : "80";
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    place.host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (rest.starts_with(':')) place.port = rest.substr(1);
  } else {
    const std::size_t colon = rest.find(':');
    place.host = rest.substr(0, colon);
    if (colon != std::string_view::npos) place.port = rest.substr(colon + 1);
  }
  if (place.host.empty() || place.port.empty()) return std::nullopt;
  return place;
}

Result<std::vector<std::string>> resolve_host(const std::string& host, std::int64_t patience_ms) {
  // getaddrinfo cannot be stopped: its thread outlives an impatient caller, and owns what it writes to.
  struct Shared {
    std::mutex mutex;
    std::condition_variable done;
    bool is_done = false;
    int trouble = 0;
    std::vector<std::string> found;
  };
  auto shared = std::make_shared<Shared>();
  std::thread([shared, host] {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    const int trouble = getaddrinfo(host.c_str(), nullptr, &hints, &list);
    const Addresses guard(list);
    const std::lock_guard lock(shared->mutex);
    shared->trouble = trouble;
    for (const addrinfo* it = trouble == 0 ? list : nullptr; it != nullptr; it = it->ai_next) {
      char text[NI_MAXHOST] = "";
      if (getnameinfo(it->ai_addr, it->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
        shared->found.emplace_back(text);
      }
    }
    shared->is_done = true;
    shared->done.notify_all();
  }).detach();
  std::unique_lock lock(shared->mutex);
  if (!shared->done.wait_for(lock, std::chrono::milliseconds(patience_ms), [&] { return shared->is_done; })) {
    return fail(ErrorCode::timeout, concat("looking up the address of '", host, "' timed out"));
  }
  if (shared->trouble != 0) {
    return fail(ErrorCode::not_found, concat("'", host, "': ", gai_strerror(shared->trouble)));
  }
  return shared->found;
}

Result<std::int64_t> probe_tcp(const std::vector<std::string>& addresses, const std::string& port,
                               std::int64_t patience_ms) {
  const auto begun = Clock::now();
  auto connected = connect_to_any(addresses, port, begun + std::chrono::milliseconds(patience_ms));
  if (!connected) return pass(connected);
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begun).count();
}

Result<TlsSeen> probe_tls(const ServerPlace& place, const std::vector<std::string>& addresses,
                          const std::optional<std::string>& ca_pem, std::int64_t patience_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(patience_ms);
  auto socket = connect_to_any(addresses, place.port, until);
  if (!socket) return pass(socket);
  const Context context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail(ErrorCode::io, "cannot set up TLS");
  trust(context.get(), ca_pem);
  const Session session(SSL_new(context.get()));
  if (!session) return fail(ErrorCode::io, "cannot set up TLS");
  if (is_address(place.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.get()), place.host.c_str());
  } else {
    SSL_set_tlsext_host_name(session.get(), place.host.c_str());
    SSL_set1_host(session.get(), place.host.c_str());
  }
  // The handshake goes on whatever the certificate is, to be able to tell of it. Nothing is sent afterwards.
  SSL_set_verify(session.get(), SSL_VERIFY_NONE, nullptr);
  SSL_set_fd(session.get(), socket->get());
  if (auto shaken = shake_hands(session.get(), socket->get(), until); !shaken) return pass(shaken);
  TlsSeen seen{.issuer = {}, .ends_ms = 0, .trouble = {}, .is_own_authority = ca_pem.has_value()};
  if (const long verdict = SSL_get_verify_result(session.get()); verdict != X509_V_OK) {
    seen.trouble = X509_verify_cert_error_string(verdict);
  }
  if (const Peer peer(SSL_get1_peer_certificate(session.get())); peer) {
    seen.ends_ms = epoch_ms(X509_get0_notAfter(peer.get()));
    char name[256] = "";
    X509_NAME_get_text_by_NID(X509_get_issuer_name(peer.get()), NID_commonName, name, sizeof name);
    seen.issuer = name;
  }
  return seen;
}

}  // namespace drover
