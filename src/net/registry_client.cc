#include "net/registry_client.h"

#include <curl/curl.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <memory>

#include "base/text.h"
#include "net/http_client.h"
#include "net/public_address.h"
#include "wire/base64.h"
#include "wire/document.h"

namespace drover {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAnswer = std::size_t{4} << 20;  // as large as registries take a manifest
constexpr int kMostRedirects = 5;
constexpr std::string_view kAccept =
    "application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json, "
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";

std::unexpected<Error> refuse(ErrorCode code, std::string words) {
  return fail(code, std::move(words));
}

struct UrlDeleter {
  void operator()(CURLU* it) const { curl_url_cleanup(it); }
};

/// A URL in its parts; what it redirects to may be relative to it.
struct Url {
  std::string scheme;  // "http", "https"
  std::string host;    // an IPv6 address in brackets
  std::string port;
  std::string target;  // path and query

  static std::optional<Url> parse(const std::string& text) { return follow(nullptr, text); }
  std::optional<Url> redirected_to(const std::string& location) const { return follow(this, location); }

  std::string base() const { return concat(scheme, "://", host, ":", port); }

 private:
  static std::optional<Url> follow(const Url* from, const std::string& text) {
    const std::unique_ptr<CURLU, UrlDeleter> pieces(curl_url());
    if (from != nullptr &&
        curl_url_set(pieces.get(), CURLUPART_URL, concat(from->base(), from->target).c_str(), 0) != CURLUE_OK) {
      return std::nullopt;
    }
    if (curl_url_set(pieces.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return std::nullopt;
    const auto part = [&](CURLUPart which, unsigned flags) {
      char* found = nullptr;
      if (curl_url_get(pieces.get(), which, &found, flags) != CURLUE_OK) return std::string();
      std::string copy(found);
      curl_free(found);
      return copy;
    };
    Url out{.scheme = part(CURLUPART_SCHEME, 0),
            .host = part(CURLUPART_HOST, 0),
            .port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT),
            .target = part(CURLUPART_PATH, 0)};
    if (const std::string query = part(CURLUPART_QUERY, 0); !query.empty()) out.target += concat("?", query);
    const bool is_web = out.scheme == "http" || out.scheme == "https";
    if (!is_web || out.host.empty() || !part(CURLUPART_USER, 0).empty()) return std::nullopt;
    return out;
  }
};

std::string escaped(std::string_view text) {
  if (text.empty()) return {};
  char* found = curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size()));
  std::string out = found == nullptr ? "" : found;
  curl_free(found);
  return out;
}

std::string sha256_of(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> sum{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), sum.data(), &size, EVP_sha256(), nullptr);
  std::string out = "sha256:";
  for (unsigned i = 0; i < size; ++i) out += {"0123456789abcdef"[sum[i] >> 4], "0123456789abcdef"[sum[i] & 15]};
  return out;
}

/// A web page that a proxy or a portal answers with is not the image's manifest.
bool is_manifest(const HttpResponse& response) {
  const std::string* type = response.header("content-type");
  return type != nullptr && kAccept.contains(in_small_letters(std::string_view(*type).substr(0, type->find(';'))));
}

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

std::optional<AuthChallenge> parse_challenge(std::string_view header) {
  AuthChallenge out;
  const std::size_t space = header.find(' ');
  out.scheme = in_small_letters(header.substr(0, space));
  if (space == std::string_view::npos) return out;
  std::string_view rest = header.substr(space + 1);
  while (true) {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t,"), rest.size()));
    if (rest.empty()) return out;
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string name = in_small_letters(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    std::string value;
    if (rest.starts_with('"')) {
      std::size_t at = 1;
      for (; at < rest.size() && rest[at] != '"'; ++at) {
        if (rest[at] == '\\' && at + 1 < rest.size()) ++at;
        value += rest[at];
      }
      if (at >= rest.size()) return std::nullopt;
      rest.remove_prefix(at + 1);
    } else {
      value = rest.substr(0, rest.find_first_of(", \t"));
      rest.remove_prefix(value.size());
    }
    if (name == "realm") {
      out.realm = std::move(value);
    } else if (name == "service") {
      out.service = std::move(value);
    } else if (name == "scope") {
      out.scope = std::move(value);
    }
  }
}

std::optional<std::string> login_for(std::string_view config_json, std::string_view host) {
  const auto config = node_from_json(config_json);
  const Node* auths = config ? config->find("auths") : nullptr;
  if (auths == nullptr) return std::nullopt;
  for (const Node::Field& field : auths->fields) {
    // "host", or as Docker once wrote it: "https://index.docker.io/v1/".
    std::string_view name = field.name;
    for (const std::string_view scheme : {"https://", "http://"}) {
      if (name.starts_with(scheme)) name.remove_prefix(scheme.size());
    }
    name = name.substr(0, name.find('/'));
    if (name == "index.docker.io" || name == "registry-1.docker.io") name = "docker.io";
    const Node* auth = field.value.find("auth");
    if (name != host || auth == nullptr) continue;
    auto login = from_base64(auth->text);
    if (login && login->contains(':')) return login;
  }
  return std::nullopt;
}

/// One lookup, from the first request to the last.
class RegistryClient::Lookup {
 public:
  Lookup(const RegistryClient& client, const RegistryRule& rule, const ImageReference& image, std::stop_token stop)
      : client_(client),
        rule_(rule),
        image_(image),
        stop_(std::move(stop)),
        until_(Clock::now() + std::chrono::milliseconds(client.most_ms_)) {}

  Result<std::string> run() {
    using enum RegistryRule::Security;
    if (rule_.security != unverified) return run(rule_.security == plain ? "http" : "https");
    auto encrypted = run("https");
    return encrypted || has_answered_ ? encrypted : run("http");
  }

 private:
  Result<std::string> run(std::string_view scheme) {
    const auto url = Url::parse(
        concat(scheme, "://", registry_endpoint(rule_.host), "/v2/", image_.name, "/manifests/", image_.tag));
    if (!url) return refuse(ErrorCode::bad_input, "its name is malformed");
    auto response = manifest(*url, {});
    // A login is for the registry, not for whom it redirects to.
    if (response && response->status == 401 && asked_last_ == url->base()) {
      auto permit = log_in(*response);
      if (!permit) return pass(permit);
      response = manifest(*url, *permit);
    }
    if (!response) return pass(response);
    switch (response->status) {
      case 200: break;
      case 404: return refuse(ErrorCode::not_found, "missing");
      case 401:
      case 403: return refuse(ErrorCode::denied, "unauthorized");
      default: return refuse(ErrorCode::unreachable, "unreachable");
    }
    if (!is_manifest(*response)) return refuse(ErrorCode::bad_input, "the response is not an image manifest");
    return sha256_of(response->body);
  }

  /// Follows redirects. `permit` is shown to the registry alone.
  Result<HttpResponse> manifest(Url url, const std::string& permit) {
    const std::string first = url.base();
    for (int redirects = 0;; ++redirects) {
      std::vector<HttpHeader> headers{{"Accept", std::string(kAccept)}};
      if (!permit.empty() && url.base() == first) headers.push_back({"Authorization", permit});
      asked_last_ = url.base();
      auto response = get(url, std::move(headers));
      if (!response || !is_redirect(response->status)) return response;
      const std::string* location = response->header("location");
      const auto next = location == nullptr ? std::nullopt : url.redirected_to(*location);
      if (!next || redirects == kMostRedirects) return refuse(ErrorCode::unreachable, "unreachable");
      url = *next;
    }
  }

  /// The value of an Authorization header.
  Result<std::string> log_in(const HttpResponse& refusal) {
    const auto login = login_for(client_.config_json_, rule_.host);
    std::string basic = login ? concat("Basic ", base64(*login)) : std::string();
    const std::string* header = refusal.header("www-authenticate");
    const auto challenge = header == nullptr ? std::nullopt : parse_challenge(*header);
    if (challenge && challenge->scheme == "basic" && login) return basic;
    if (!challenge || challenge->scheme != "bearer") return refuse(ErrorCode::denied, "unauthorized");
    auto url = Url::parse(challenge->realm);
    if (!url) return refuse(ErrorCode::denied, "unauthorized");
    url->target += concat(url->target.contains('?') ? "&" : "?", "service=", escaped(challenge->service),
                          "&scope=", escaped(concat("repository:", image_.name, ":pull")));
    std::vector<HttpHeader> headers;
    if (login) headers.push_back({"Authorization", basic});
    auto response = get(*url, std::move(headers));
    if (!response) return pass(response);
    if (response->status != 200) return refuse(ErrorCode::denied, "unauthorized");
    const auto answer = node_from_json(response->body);
    for (const char* name : {"token", "access_token"}) {
      const Node* token = answer ? answer->find(name) : nullptr;
      if (token != nullptr && is_token(token->text)) return concat("Bearer ", token->text);
    }
    return refuse(ErrorCode::denied, "unauthorized");
  }

  static bool is_token(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
  }

  Result<HttpResponse> get(const Url& url, std::vector<HttpHeader> headers) {
    const bool is_registry = url.host + ":" + url.port == place_of_registry(url.scheme);
    if (url.scheme == "http" && !rule_.allows_plain_http()) {
      return refuse(ErrorCode::denied, "its registry redirects to a server without TLS");
    }
    ClientOptions options{.base = url.base(), .token = {}, .ca_pem = {}, .most_answer_bytes = kMostAnswer};
    const bool is_named = client_.rules_.names(url.scheme, url.host, url.port);
    options.may_connect = [is_named](const sockaddr& address) { return is_named || is_public_address(address); };
    if (is_registry) options.ca_pem = authorities();
    options.trusts_anybody = is_registry && rule_.security == RegistryRule::Security::unverified;
    const auto left_ms = std::chrono::duration_cast<std::chrono::milliseconds>(until_ - Clock::now()).count();
    if (left_ms <= 0) return refuse(ErrorCode::timeout, "timed_out");
    options.connect_timeout_ms = left_ms;
    auto client = make_http_client(options);
    if (!client) return refuse(ErrorCode::unreachable, "unreachable");
    const std::stop_callback abort(stop_, [&] { (*client)->abort(); });
    auto response =
        (*client)->call({.method = "GET", .path = url.target, .headers = std::move(headers), .deadline_ms = left_ms});
    if (response) {
      has_answered_ = true;
      return response;
    }
    // What exactly went wrong is nobody's business: it would tell about machines that only the server can see.
    if (response.error().code == ErrorCode::timeout || Clock::now() >= until_)
      return refuse(ErrorCode::timeout, "timed_out");
    if (response.error().code != ErrorCode::denied) return refuse(ErrorCode::unreachable, "unreachable");
    return refuse(ErrorCode::denied, is_registry
                                         ? "its registry has a private address or an untrusted certificate"
                                         : "its registry redirects to a private address or an untrusted certificate");
  }

  std::optional<std::string> authorities() const {
    std::ifstream file(rule_.ca_file, std::ios::binary);
    if (!file) return std::nullopt;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  std::string place_of_registry(std::string_view scheme) const {
    const auto url = Url::parse(concat(scheme, "://", registry_endpoint(rule_.host), "/"));
    return url ? concat(url->host, ":", url->port) : std::string();
  }

  const RegistryClient& client_;
  const RegistryRule& rule_;
  const ImageReference& image_;
  const std::stop_token stop_;
  const Clock::time_point until_;
  bool has_answered_ = false;
  std::string asked_last_;  // for the manifest
};

Result<std::string> RegistryClient::digest(const ImageReference& image, const std::stop_token& stop) const {
  const RegistryRule* rule = rules_.find(image.host);
  if (rule == nullptr) {
    return refuse(ErrorCode::denied, concat(image.host, " is not one of the registries that this server queries"));
  }
  return Lookup(*this, *rule, image, stop).run();
}

}  // namespace drover
