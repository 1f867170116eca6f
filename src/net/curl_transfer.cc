#include "net/curl_transfer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kUnix = "unix:";

bool breaks_lines(std::string_view text) {
  return text.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

bool may_have_body(std::string_view method) {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

ErrorCode code_of(CURLcode code, bool was_reached) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return ErrorCode::unreachable;
    case CURLE_OPERATION_TIMEDOUT: return was_reached ? ErrorCode::timeout : ErrorCode::unreachable;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM: return ErrorCode::denied;
    default: return ErrorCode::io;
  }
}

}  // namespace

Result<CurlTarget> CurlTarget::make(ClientOptions options) {
  CurlTarget target;
  const auto wrong = [&](std::string_view why) {
    return fail(ErrorCode::bad_input, concat("invalid server address: ", why),
                "write it as http://HOST:PORT, https://HOST:PORT or unix:/PATH");
  };
  if (breaks_lines(options.token)) return fail(ErrorCode::bad_input, "the token contains a line break");
  if (options.base.starts_with(kUnix)) {
    target.socket_path = options.base.substr(kUnix.size());
    target.url = "http://localhost";
    target.is_direct = true;
    if (target.socket_path.empty()) return wrong("the socket path is empty");
  } else {
    struct UrlDeleter {
      void operator()(CURLU* it) const { curl_url_cleanup(it); }
    };
    const std::unique_ptr<CURLU, UrlDeleter> pieces(curl_url());
    const CURLUcode parsed = curl_url_set(pieces.get(), CURLUPART_URL, options.base.c_str(), 0);
    if (parsed != CURLUE_OK) return wrong(curl_url_strerror(parsed));
    const auto part = [&](CURLUPart which) {
      char* text = nullptr;
      if (curl_url_get(pieces.get(), which, &text, 0) != CURLUE_OK) return std::string();
      std::string copy(text);
      curl_free(text);
      return copy;
    };
    const std::string scheme = part(CURLUPART_SCHEME);
    if (scheme != "http" && scheme != "https") return wrong("the scheme must be http or https");
    if (!part(CURLUPART_USER).empty() || !part(CURLUPART_PASSWORD).empty())
      return wrong("it must not contain a user name");
    if (!part(CURLUPART_QUERY).empty() || !part(CURLUPART_FRAGMENT).empty())
      return wrong("it must not contain a query");
    const std::string host = part(CURLUPART_HOST);
    target.checks_peer = scheme == "http" && !options.only_to_users.empty();
    target.is_direct = target.checks_peer || host == "localhost" || host == "[::1]" || host.starts_with("127.");
    target.url = options.base;
    while (target.url.ends_with('/')) target.url.pop_back();
  }
  target.options = std::move(options);
  return target;
}

CurlTransfer::CurlTransfer(CURL* handle, const CurlTarget& target, const HttpCall& call)
    : handle_(handle), target_(target), call_(call) {}

CurlTransfer::~CurlTransfer() {
  // It points at headers_ and at this.
  curl_easy_reset(handle_);
}

/// The call, for people. A query may hold a signature, and is nobody's business.
std::string CurlTransfer::where() const {
  const std::string_view base = target_.socket_path.empty() ? target_.url : target_.options.base;
  return concat(call_.method, ' ', base, call_.path.substr(0, call_.path.find('?')));
}

Result<void> CurlTransfer::prepare(std::int64_t remaining_ms) {
  remaining_ms_ = remaining_ms;
  if (auto set = set_headers(); !set) return set;
  const auto set = [this](CURLoption option, auto value) { curl_easy_setopt(handle_, option, value); };
  set(CURLOPT_URL, concat(target_.url, call_.path).c_str());
  if (!target_.socket_path.empty()) {
    auto path = SocketPath::open(target_.socket_path);
    if (!path) return pass(path);
    socket_path_.emplace(std::move(*path));
    set(CURLOPT_UNIX_SOCKET_PATH, socket_path_->text().c_str());
  }
  if (target_.is_direct || target_.options.may_connect) set(CURLOPT_PROXY, "");
  if (target_.checks_peer) {
    set(CURLOPT_PREREQFUNCTION, &CurlTransfer::on_connected);
    set(CURLOPT_PREREQDATA, static_cast<void*>(this));
  }
  if (target_.options.may_connect) {
    set(CURLOPT_OPENSOCKETFUNCTION, &CurlTransfer::on_address);
    set(CURLOPT_OPENSOCKETDATA, static_cast<void*>(this));
  }
  set(CURLOPT_SOCKOPTFUNCTION, &CurlTransfer::on_socket);
  set(CURLOPT_SOCKOPTDATA, static_cast<void*>(this));
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_TCP_NODELAY, 1L);
  set(CURLOPT_TCP_KEEPALIVE, 1L);
  set(CURLOPT_TCP_KEEPIDLE, 10L);  // seconds; a call that waits for an answer notices a dead line in about silence_ms
  set(CURLOPT_TCP_KEEPINTVL, 5L);
  set(CURLOPT_PATH_AS_IS, 1L);
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(target_.options.connect_timeout_ms));
  set(CURLOPT_TIMEOUT_MS, static_cast<long>(remaining_ms));
  set(CURLOPT_LOW_SPEED_LIMIT, call_.stall_ms > 0 ? 1L : 0L);
  set(CURLOPT_LOW_SPEED_TIME, static_cast<long>(call_.stall_ms / 1000));
  set(CURLOPT_HEADERFUNCTION, &CurlTransfer::on_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(this));
  set(CURLOPT_WRITEFUNCTION, &CurlTransfer::on_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(this));
  set(CURLOPT_BUFFERSIZE, 128L << 10);
  set(CURLOPT_ERRORBUFFER, static_cast<char*>(trouble_));
  set_security();
  set_body();
  return {};
}

/// After the name was resolved, for each address that would be connected to.
curl_socket_t CurlTransfer::on_address(void* self, curlsocktype, curl_sockaddr* address) {
  auto* transfer = static_cast<CurlTransfer*>(self);
  if (!transfer->target_.options.may_connect(address->addr)) {
    transfer->address_was_refused_ = true;
    return CURL_SOCKET_BAD;
  }
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

int CurlTransfer::on_socket(void* self, curl_socket_t socket, curlsocktype) {
  const auto silence_ms = static_cast<unsigned>(static_cast<CurlTransfer*>(self)->target_.options.silence_ms);
  // Fails for a Unix socket, whose peer is never out of reach.
  ::setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
  return CURL_SOCKOPT_OK;
}

void CurlTransfer::set_security() {
  curl_easy_setopt(handle_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  if (target_.options.trusts_anybody) {
    curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(handle_, CURLOPT_SSL_VERIFYHOST, 0L);
    return;
  }
  curl_easy_setopt(handle_, CURLOPT_SSL_CTX_FUNCTION, &CurlTransfer::on_tls);
  curl_easy_setopt(handle_, CURLOPT_SSL_CTX_DATA, static_cast<void*>(this));
  if (!target_.options.ca_pem) return;
  const std::string& pem = *target_.options.ca_pem;
  curl_blob blob{const_cast<char*>(pem.data()), pem.size(), CURL_BLOB_NOCOPY};
  curl_easy_setopt(handle_, CURLOPT_CAINFO_BLOB, &blob);
  // The folder of whom the system trusts would be asked besides.
  curl_easy_setopt(handle_, CURLOPT_CAPATH, nullptr);
}

/// Curl tells a certificate that the wrong authority signed from any other trouble only while the two authorities
/// differ in name: an authority that was made anew does not. So OpenSSL is asked.
CURLcode CurlTransfer::on_tls(CURL*, void* context, void* self) {
  auto* tls = static_cast<SSL_CTX*>(context);
  SSL_CTX_set_app_data(tls, self);
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, &CurlTransfer::on_certificate);
  return CURLE_OK;
}

int CurlTransfer::on_certificate(int is_good, X509_STORE_CTX* store) {
  if (is_good == 1) return is_good;
  const auto* ssl = static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  static_cast<CurlTransfer*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->certificate_was_refused_ = true;
  return is_good;
}

Result<void> CurlTransfer::set_headers() {
  const auto add = [this](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    if (longer == nullptr) return;
    static_cast<void>(headers_.release());
    headers_.reset(longer);
  };
  for (const HttpHeader& header : call_.headers) {
    if (breaks_lines(header.name) || breaks_lines(header.value) || header.name.empty()) {
      return fail(ErrorCode::bad_input, concat(where(), ": a header contains a line break or has no name"));
    }
    // Curl takes "name:" for a header to leave out.
    add(header.value.empty() ? header.name + ";" : concat(header.name, ": ", header.value));
  }
  if (!target_.options.token.empty()) add("Authorization: Bearer " + target_.options.token);
  if (find_header(call_.headers, "content-type") == nullptr) add("Content-Type:");
  if (breaks_lines(call_.path) || !call_.path.starts_with('/')) {
    return fail(ErrorCode::bad_input, "a call's path must begin with a slash and contain no line break");
  }
  curl_easy_setopt(handle_, CURLOPT_HTTPHEADER, headers_.get());
  return {};
}

void CurlTransfer::set_body() {
  if (call_.body_source) {
    curl_easy_setopt(handle_, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(handle_, CURLOPT_READFUNCTION, &CurlTransfer::on_read);
    curl_easy_setopt(handle_, CURLOPT_READDATA, static_cast<void*>(this));
    curl_easy_setopt(handle_, CURLOPT_UPLOAD_BUFFERSIZE, 128L << 10);
    if (const std::string* length = find_header(call_.headers, "content-length")) {
      curl_off_t bytes = -1;
      std::from_chars(length->data(), length->data() + length->size(), bytes);
      curl_easy_setopt(handle_, CURLOPT_INFILESIZE_LARGE, bytes);
    }
  } else if (!call_.body.empty() || may_have_body(call_.method)) {
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(call_.body.size()));
    curl_easy_setopt(handle_, CURLOPT_POSTFIELDS, call_.body.data());
  }
  if (call_.method == "HEAD") curl_easy_setopt(handle_, CURLOPT_NOBODY, 1L);
  curl_easy_setopt(handle_, CURLOPT_CUSTOMREQUEST, call_.method.c_str());
}

/// There is a connection, and nothing has been sent over it yet.
int CurlTransfer::on_connected(void* self, char* peer_ip, char* own_ip, int peer_port, int own_port) {
  auto& transfer = *static_cast<CurlTransfer*>(self);
  auto checked = transfer.check_peer({peer_ip, peer_port, own_ip, own_port});
  if (checked) return CURL_PREREQFUNC_OK;
  transfer.error_ = checked.error();
  return CURL_PREREQFUNC_ABORT;
}

Result<void> CurlTransfer::check_peer(const TcpEnds& ends) const {
  auto users = users_behind(ends);
  if (!users) return pass(users);
  const std::vector<uid_t>& trusted = target_.options.only_to_users;
  const auto is_trusted = [&](uid_t user) { return std::ranges::find(trusted, user) != trusted.end(); };
  const auto stranger = std::ranges::find_if_not(*users, is_trusted);
  if (!users->empty() && stranger == users->end()) return {};
  const std::string who =
      users->empty() ? "cannot be identified as a process on this machine" : concat("belongs to user id ", *stranger);
  return fail(ErrorCode::denied,
              concat(where(), ": nothing was sent: the program that listens on port ", ends.peer_port, " ", who),
              "restart the server, and find out which program has taken its port");
}

std::size_t CurlTransfer::on_header(char* bytes, std::size_t size, std::size_t count, void* self) {
  static_cast<CurlTransfer*>(self)->header({bytes, size * count});
  return size * count;
}

void CurlTransfer::header(std::string_view line) {
  // There may be several heads: "100 Continue" comes before the real one.
  if (line.starts_with("HTTP/")) response_ = {};
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  response_.headers.push_back(
      {std::string(line.substr(0, colon)), std::string(without_blanks(line.substr(colon + 1)))});
}

std::size_t CurlTransfer::on_body(char* bytes, std::size_t size, std::size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->body({bytes, size * count}) ? size * count : CURL_WRITEFUNC_ERROR;
}

bool CurlTransfer::body(std::string_view bytes) {
  long status = 0;
  curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
  if (call_.take && (call_.take_status == 0 ? status / 100 == 2 : status == call_.take_status)) {
    partly_taken_ = true;
    auto taken = call_.take(bytes);
    if (!taken) error_ = taken.error();
    return taken.has_value();
  }
  if (call_.take && call_.take_status != 0 && status / 100 == 2) {
    error_ = Error{ErrorCode::bad_method,
                   concat(where(), ": the answer has status ", status, " instead of ", call_.take_status),
                   {}};
    return false;
  }
  if (response_.body.size() + bytes.size() > target_.options.most_answer_bytes) {
    error_ = Error{ErrorCode::io,
                   concat(where(), ": the response is longer than ", target_.options.most_answer_bytes >> 10, " KiB"),
                   {}};
    return false;
  }
  response_.body += bytes;
  return true;
}

std::size_t CurlTransfer::on_read(char* into, std::size_t size, std::size_t count, void* self) {
  return static_cast<CurlTransfer*>(self)->read({into, size * count});
}

std::size_t CurlTransfer::read(std::span<char> into) {
  if (piece_at_ == piece_.size()) {
    auto next = call_.body_source();
    if (!next) {
      error_ = next.error();
      return CURL_READFUNC_ABORT;
    }
    piece_ = std::move(*next);
    piece_at_ = 0;
  }
  const std::size_t bytes = std::min(into.size(), piece_.size() - piece_at_);
  std::copy_n(piece_.data() + piece_at_, bytes, into.data());
  piece_at_ += bytes;
  return bytes;
}

Result<HttpResponse> CurlTransfer::outcome(CURLcode code) {
  if (error_) return std::unexpected(*error_);
  if (code == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(handle_, CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    return std::move(response_);
  }
  if (address_was_refused_ && code == CURLE_COULDNT_CONNECT) {
    return fail(ErrorCode::denied, concat(where(), ": connections to its address are not allowed"));
  }
  if (certificate_was_refused_) {
    return fail(ErrorCode::denied, concat(where(), ": the server's certificate is not signed by a trusted authority"),
                "check that this is the right server, and that $DROVER_CA is the path of a copy of its ca.pem");
  }
  // There are two clocks: one for all of it, and one for knocking, which counts only if it is the shorter.
  curl_off_t sent_at_us = 0;
  curl_easy_getinfo(handle_, CURLINFO_PRETRANSFER_TIME_T, &sent_at_us);
  const bool was_reached = sent_at_us > 0 || (remaining_ms_ > 0 && remaining_ms_ <= target_.options.connect_timeout_ms);
  return fail(code_of(code, was_reached), concat(where(), ": ", trouble_[0] != 0 ? trouble_ : curl_easy_strerror(code)),
              code == CURLE_PEER_FAILED_VERIFICATION
                  ? "use an address listed in its certificate; 'drover server --advertise' adds one"
                  : "");
}

std::int64_t CurlTransfer::retry_after_ms() const {
  curl_off_t seconds = 0;
  curl_easy_getinfo(handle_, CURLINFO_RETRY_AFTER, &seconds);
  return std::clamp<std::int64_t>(seconds, 0, 3600) * 1000;
}

}  // namespace drover
