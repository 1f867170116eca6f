// One request and its response as libcurl sees them: the settings, the callbacks, and what came of it.
#pragma once

#include <curl/curl.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "net/http_client.h"
#include "net/peer_users.h"
#include "net/socket_path.h"
#include "ports/http_client.h"

struct x509_store_ctx_st;

namespace drover {

struct CurlListDeleter {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

/// Where a client's calls go.
struct CurlTarget {
  ClientOptions options;
  std::string url;           // before the path
  std::string socket_path;   // of a Unix socket
  bool is_direct = false;    // through no proxy
  bool checks_peer = false;  // see ClientOptions::only_to_users

  static Result<CurlTarget> make(ClientOptions options);
};

class CurlTransfer {
 public:
  /// All three outlive it.
  CurlTransfer(CURL* handle, const CurlTarget& target, const HttpCall& call);
  ~CurlTransfer();
  CurlTransfer(const CurlTransfer&) = delete;
  CurlTransfer& operator=(const CurlTransfer&) = delete;

  /// `remaining_ms`: until the deadline; 0: there is none.
  Result<void> prepare(std::int64_t remaining_ms);
  /// What the call gave, now that curl is done with it.
  Result<HttpResponse> outcome(CURLcode code);
  /// The caller has been given a part of the body, and cannot be given it again.
  bool was_partly_taken() const { return partly_taken_; }
  /// Milliseconds the server asked to be left alone for.
  std::int64_t retry_after_ms() const;

 private:
  static std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* self);
  static std::size_t on_read(char* into, std::size_t size, std::size_t count, void* self);
  static curl_socket_t on_address(void* self, curlsocktype purpose, curl_sockaddr* address);
  static int on_socket(void* self, curl_socket_t socket, curlsocktype purpose);
  static CURLcode on_tls(CURL* handle, void* context, void* self);
  static int on_connected(void* self, char* peer_ip, char* own_ip, int peer_port, int own_port);
  static int on_certificate(int is_good, x509_store_ctx_st* store);
  void header(std::string_view line);
  bool body(std::string_view bytes);
  std::size_t read(std::span<char> into);
  Result<void> check_peer(const TcpEnds& ends) const;
  Result<void> set_headers();
  void set_body();
  void set_security();
  std::string where() const;

  CURL* handle_;
  const CurlTarget& target_;
  const HttpCall& call_;
  std::int64_t remaining_ms_ = 0;
  std::unique_ptr<curl_slist, CurlListDeleter> headers_;
  std::optional<SocketPath> socket_path_;
  HttpResponse response_;
  char trouble_[CURL_ERROR_SIZE] = "";  // what curl says about it, if anything
  bool certificate_was_refused_ = false;
  bool address_was_refused_ = false;
  bool partly_taken_ = false;
  std::optional<Error> error_;  // of a callback
  std::string piece_;           // of the body_source, from piece_at_ on
  std::size_t piece_at_ = 0;
};

}  // namespace drover
