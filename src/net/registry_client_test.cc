// Registries on this machine that answer as a test makes up: some mean well, some want to know what only the server can
// see. They are allowed as docker.io is, which is not the same as being named by the operator.
#include "net/registry_client.h"

#include <stdlib.h>
#include <unistd.h>

#include <map>

#include "net/certificate_fixture.h"
#include "net/server_fixture.h"
#include "wire/base64.h"

namespace drover {
namespace {

constexpr std::string_view kManifest = R"({"schemaVersion":2})";

HttpResponse manifest_response(std::string body = std::string(kManifest)) {
  return {.status = 200,
          .headers = {{"Content-Type", "application/vnd.oci.image.manifest.v1+json"}},
          .body = std::move(body)};
}

HttpResponse redirect(const std::string& to) {
  return {.status = 307, .headers = {{"Location", to}}, .body = {}};
}

HttpResponse challenge(const std::string& header) {
  return {.status = 401, .headers = {{"WWW-Authenticate", header}}, .body = R"({"errors":[{"message":"the secret"}]})"};
}

/// A server whose answers are by path, and which remembers what it was asked.
class FakeServer {
 public:
  using Answer = std::function<HttpResponse(const HttpHead&)>;

  explicit FakeServer(std::optional<TlsIdentity> tls = {}) {
    handler_.on_request = [this](HttpRequest request, HttpReply reply) {
      const std::scoped_lock lock(mutex_);
      asked_.push_back(request.head);
      const auto found = answers_.find(request.head.path);
      reply.send(found == answers_.end() ? text_response("not here", 404) : found->second(request.head));
    };
    auto server = HttpServer::start({.listen = {"127.0.0.1:0"}, .tls = std::move(tls), .limits = {}}, handler_);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    host = server_->addresses().front();
    port = host.substr(host.rfind(':') + 1);
  }
  ~FakeServer() { server_.reset(); }
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  void answer(const std::string& path, Answer answer) {
    const std::scoped_lock lock(mutex_);
    answers_[path] = std::move(answer);
  }
  std::vector<HttpHead> asked() {
    const std::scoped_lock lock(mutex_);
    return asked_;
  }

  std::string host;  // 127.0.0.1:PORT
  std::string port;

 private:
  std::mutex mutex_;
  std::map<std::string, Answer> answers_;
  std::vector<HttpHead> asked_;
  TestHandler handler_;
  std::unique_ptr<HttpServer> server_;
};

/// A file that goes with the test.
class TestFile {
 public:
  explicit TestFile(const std::string& text) {
    const int file = ::mkstemp(path_.data());
    if (file < 0 || ::write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      throw std::runtime_error("no temporary file");
    }
    ::close(file);
  }
  ~TestFile() { ::unlink(path_.c_str()); }
  TestFile(const TestFile&) = delete;
  TestFile& operator=(const TestFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/tmp/drover-registry-test.XXXXXX";
};

RegistryRule named(const std::string& host, RegistryRule::Security security = RegistryRule::Security::plain) {
  return {.host = host, .security = security, .was_named = true};
}

class RegistryClientTest : public ::testing::Test {
 protected:
  static constexpr const char* kPath = "/v2/team/tool/manifests/1";

  RegistryClientTest() {
    registry_.answer(kPath, [](const HttpHead&) { return manifest_response(); });
  }

  Result<std::string> look_up(const std::string& host) {
    auto image = ImageReference::parse(concat(host, "/team/tool:1"));
    if (!image) throw std::runtime_error(image.error().message);
    return RegistryClient(rules_, config_, kTestPatienceMs).digest(*image, {});
  }
  void expect_refused(const std::string& host, std::string_view words) {
    const auto digest = look_up(host);
    ASSERT_FALSE(digest) << *digest;
    EXPECT_EQ(digest.error().message, words);
  }

  FakeServer registry_;
  FakeServer other_;
  RegistryRules rules_;
  std::string config_;
};

TEST_F(RegistryClientTest, ATagIsADigest) {
  rules_.add(named(registry_.host));
  const auto digest = look_up(registry_.host);
  ASSERT_TRUE(digest) << digest.error().message;
  EXPECT_TRUE(is_image_digest(*digest));
  EXPECT_NE(registry_.asked().front().header("accept")->find("image.index.v1+json"), std::string::npos);
}

TEST_F(RegistryClientTest, ARegistryThatIsNotAllowedIsNotAsked) {
  expect_refused(registry_.host, concat(registry_.host, " is not one of the registries that this server queries"));
  EXPECT_TRUE(registry_.asked().empty());
}

TEST_F(RegistryClientTest, OneThatIsAllowedButNotNamedHasAPublicAddress) {
  // By its number, and by a name that turns out to be this machine's when it is resolved.
  for (const std::string& host : {registry_.host, concat("localhost:", registry_.port)}) {
    rules_.add({.host = host, .security = RegistryRule::Security::plain});
    expect_refused(host, "its registry has a private address or an untrusted certificate");
  }
  EXPECT_TRUE(registry_.asked().empty());
}

TEST_F(RegistryClientTest, ATokenIsFetchedFromANamedRealm) {
  rules_.add(named(registry_.host));
  rules_.add(named(other_.host));
  config_ = concat(R"({"auths":{")", registry_.host, R"(":{"auth":")", base64("ann:secret"), R"("}}})");
  registry_.answer(kPath, [&](const HttpHead& head) {
    const std::string* permit = head.header("authorization");
    return permit != nullptr && *permit == "Bearer t0ken"
               ? manifest_response()
               : challenge(concat("Bearer realm=\"http://", other_.host,
                                  "/token?account=x\",service=\"the registry\",scope=\"repository:team/tool:pull\""));
  });
  other_.answer("/token", [](const HttpHead&) { return text_response(R"({"token":"t0ken"})"); });
  const auto digest = look_up(registry_.host);
  ASSERT_TRUE(digest) << digest.error().message;
  const auto asked = other_.asked();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].query, "account=x&service=the%20registry&scope=repository%3Ateam%2Ftool%3Apull");
  EXPECT_EQ(*asked[0].header("authorization"), concat("Basic ", base64("ann:secret")));
}

TEST_F(RegistryClientTest, ARealmWithAPrivateAddressIsNotAsked) {
  rules_.add(named(registry_.host));
  other_.answer("/token", [](const HttpHead&) { return text_response(R"({"token":"cloud-credentials"})"); });
  for (const std::string& realm :
       {concat("http://", other_.host, "/token"), concat("http://localhost:", other_.port, "/token"),
        concat("http://[::ffff:127.0.0.1]:", other_.port, "/token"),
        std::string("http://169.254.169.254/latest/meta-data/"), std::string("http://[fd00:ec2::254]/")}) {
    registry_.answer(kPath, [&](const HttpHead&) { return challenge(concat("Bearer realm=\"", realm, "\"")); });
    expect_refused(registry_.host, "its registry redirects to a private address or an untrusted certificate");
  }
  EXPECT_TRUE(other_.asked().empty());
  for (const HttpHead& head : registry_.asked()) EXPECT_EQ(head.header("authorization"), nullptr);
}

TEST_F(RegistryClientTest, ARealmNeedsTlsUnlessItsRegistryWasNamedWithoutIt) {
  ::drover::Authority authority("a test");
  FakeServer encrypted(authority.issue("registry"));
  const TestFile ca(authority.pem());
  RegistryRule rule = named(encrypted.host, RegistryRule::Security::tls);
  rule.ca_file = ca.path();
  rules_.add(rule);
  rules_.add(named(other_.host));
  encrypted.answer(
      kPath, [&](const HttpHead&) { return challenge(concat("Bearer realm=\"http://", other_.host, "/token\"")); });
  expect_refused(encrypted.host, "its registry redirects to a server without TLS");
  encrypted.answer(kPath, [&](const HttpHead&) { return redirect(concat("http://", other_.host, kPath)); });
  expect_refused(encrypted.host, "its registry redirects to a server without TLS");
  EXPECT_TRUE(other_.asked().empty());
  encrypted.answer(kPath, [](const HttpHead&) { return manifest_response(); });
  EXPECT_TRUE(look_up(encrypted.host));
}

TEST_F(RegistryClientTest, ARedirectLeadsToNoPrivateAddress) {
  rules_.add(named(registry_.host));
  other_.answer("/elsewhere", [](const HttpHead&) { return manifest_response(); });
  registry_.answer(kPath,
                   [&](const HttpHead&) { return redirect(concat("http://localhost:", other_.port, "/elsewhere")); });
  expect_refused(registry_.host, "its registry redirects to a private address or an untrusted certificate");
  EXPECT_TRUE(other_.asked().empty());
  rules_.add(named(other_.host));
  registry_.answer(kPath, [&](const HttpHead&) { return redirect(concat("http://", other_.host, "/elsewhere")); });
  EXPECT_TRUE(look_up(registry_.host));
}

TEST_F(RegistryClientTest, ATokenIsForItsRegistryAlone) {
  rules_.add(named(registry_.host));
  rules_.add(named(other_.host));
  other_.answer("/token", [](const HttpHead&) { return text_response(R"({"access_token":"t0ken"})"); });
  other_.answer("/elsewhere", [](const HttpHead&) { return manifest_response(); });
  registry_.answer(kPath, [&](const HttpHead& head) {
    if (head.header("authorization") == nullptr)
      return challenge(concat("Bearer realm=\"http://", other_.host, "/token\""));
    return redirect(concat("http://", other_.host, "/elsewhere"));
  });
  EXPECT_TRUE(look_up(registry_.host));
  for (const HttpHead& head : other_.asked()) EXPECT_EQ(head.header("authorization"), nullptr);
}

TEST_F(RegistryClientTest, RedirectsEnd) {
  rules_.add(named(registry_.host));
  registry_.answer(kPath, [&](const HttpHead&) { return redirect(kPath); });
  expect_refused(registry_.host, "unreachable");
  EXPECT_LE(registry_.asked().size(), 6U);
}

TEST_F(RegistryClientTest, NothingOfAnAnswerIsPassedOn) {
  rules_.add(named(registry_.host));
  const std::string secret = R"({"errors":[{"message":"the secret"}]})";
  for (const auto& [response, words] : std::vector<std::pair<HttpResponse, std::string>>{
           {text_response(secret, 404), "missing"},
           {text_response(secret, 403), "unauthorized"},
           {text_response(secret, 500), "unreachable"},
           {text_response(secret, 200), "the response is not an image manifest"},
           {challenge("Basic realm=\"the secret\""), "unauthorized"},
           {challenge("Bearer realm=\"the secret\""), "unauthorized"},
           {challenge("nonsense"), "unauthorized"},
           {manifest_response(std::string(5 << 20, 'x')), "unreachable"}}) {
    registry_.answer(kPath, [response](const HttpHead&) { return response; });
    expect_refused(registry_.host, words);
  }
}

TEST_F(RegistryClientTest, OneThatIsNotVerifiedMayBeWithoutTls) {
  rules_.add(named(registry_.host, RegistryRule::Security::unverified));
  EXPECT_TRUE(look_up(registry_.host));
  ::drover::Authority authority("nobody knows it");
  FakeServer encrypted(authority.issue("registry"));
  encrypted.answer(kPath, [](const HttpHead&) { return manifest_response(); });
  rules_.add(named(encrypted.host, RegistryRule::Security::unverified));
  EXPECT_TRUE(look_up(encrypted.host));
  rules_.add(named(encrypted.host, RegistryRule::Security::tls));
  expect_refused(encrypted.host, "its registry has a private address or an untrusted certificate");
}

TEST(AuthChallenge, IsReadAsRegistriesWriteIt) {
  const auto parsed = [](std::string_view header) { return parse_challenge(header).value_or(AuthChallenge{}); };
  const AuthChallenge usual = parsed(
      R"(Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:library/x:pull")");
  EXPECT_EQ(usual.scheme, "bearer");
  EXPECT_EQ(usual.realm, "https://auth.docker.io/token");
  EXPECT_EQ(usual.service, "registry.docker.io");
  EXPECT_EQ(usual.scope, "repository:library/x:pull");
  EXPECT_EQ(parsed(R"(BASIC Realm="a \"b\", c" , charset=UTF-8)").realm, R"(a "b", c)");
  EXPECT_EQ(parsed("Negotiate").scheme, "negotiate");
  EXPECT_FALSE(parse_challenge(R"(Bearer realm="no end)"));
  EXPECT_FALSE(parse_challenge("Bearer realm"));
}

TEST(RegistryLogin, IsFoundUnderEachFormOfTheName) {
  const std::string login = base64("ann:secret");
  const auto config = [&](const std::string& name) {
    return concat(R"({"auths":{"other":{"auth":"eDp5"},")", name, R"(":{"auth":")", login, R"("}}})");
  };
  EXPECT_EQ(login_for(config("https://index.docker.io/v1/"), "docker.io"), "ann:secret");
  EXPECT_EQ(login_for(config("docker.io"), "docker.io"), "ann:secret");
  EXPECT_EQ(login_for(config("lan:5000"), "lan:5000"), "ann:secret");
  EXPECT_EQ(login_for(config("lan:5000"), "lan"), std::nullopt);
  EXPECT_EQ(login_for(R"({"auths":{"lan":{}},"credsStore":"desktop"})", "lan"), std::nullopt);
  EXPECT_EQ(login_for("", "lan"), std::nullopt);
  EXPECT_EQ(login_for("not json", "lan"), std::nullopt);
}

}  // namespace
}  // namespace drover
