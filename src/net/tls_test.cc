#include "net/certificate_fixture.h"
#include "net/http_client.h"
#include "net/server_fixture.h"

namespace drover {
namespace {

class TlsTest : public ServerTest {
 protected:
  void start_private() {
    options_.tls = authority_.issue("first");
    start();
  }
  Result<HttpResponse> ask(const Authority& trusted, const HttpCall& call) {
    auto client = make_http_client({.base = "https://" + address_, .token = {}, .ca_pem = trusted.pem()});
    EXPECT_TRUE(client) << client.error().message;
    return (*client)->call(call);
  }

  Authority authority_{"authority"};
};

TEST_F(TlsTest, AsksInPrivate) {
  bool encrypted = false;
  handler_.on_request = [&](HttpRequest request, HttpReply reply) {
    encrypted = request.head.encrypted;
    reply.send(text_response(std::move(request.body)));
  };
  handler_.most_bytes = 32 << 20;
  start_private();
  // Small, and larger than any buffer on the way.
  for (const std::size_t size : {std::size_t{3}, std::size_t{20} << 20}) {
    const auto answer = ask(authority_, {.method = "POST", .path = "/", .body = std::string(size, 'x')});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->body.size(), size);
    EXPECT_TRUE(encrypted);
  }
}

TEST_F(TlsTest, AServerThatAnotherVouchesForIsDenied) {
  start_private();
  const Authority other("authority");
  const auto answer = ask(other, {.path = "/echo", .may_repeat = true});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::denied) << answer.error().message;
  EXPECT_EQ(handler_.requests, 0);
}

TEST_F(TlsTest, TheSystemsAuthoritiesDoNotVouchForIt) {
  start_private();
  auto client = make_http_client({.base = "https://" + address_, .token = {}, .ca_pem = {}});
  const auto answer = (*client)->call({.path = "/echo"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::denied) << answer.error().message;
}

TEST_F(TlsTest, WhoTrustsAnybodyIsAnsweredByAnybody) {
  start_private();
  auto client = make_http_client({.base = "https://" + address_, .token = {}, .ca_pem = {}, .trusts_anybody = true});
  EXPECT_EQ((*client)->call({.path = "/echo?x"})->body, "x");
}

TEST_F(TlsTest, ALongPollIsAnsweredFromAnotherThread) {
  start_private();
  std::thread answering([&] { handler_.later.next().send(text_response("later")); });
  const auto answer = ask(authority_, {.path = "/later"});
  answering.join();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "later");
}

TEST_F(TlsTest, ACertificateIsReplacedWhileConnectionsGoOn) {
  start_private();
  auto client = make_http_client({.base = "https://" + address_, .token = {}, .ca_pem = authority_.pem()});
  ASSERT_TRUE((*client)->call({.path = "/echo?1"}));
  Authority successor("successor");
  ASSERT_TRUE(server_->set_tls(successor.issue("second")));
  EXPECT_TRUE((*client)->call({.path = "/echo?2"})) << "on the connection it has";
  EXPECT_TRUE(ask(successor, {.path = "/echo"}));
  EXPECT_FALSE(ask(authority_, {.path = "/echo"}));
}

TEST_F(TlsTest, ACertificateThatCannotBeUsedIsRefusedAndTheOldOneKept) {
  start_private();
  const TlsIdentity good = authority_.issue("good");
  for (const TlsIdentity& bad :
       {TlsIdentity{}, TlsIdentity{good.certificate_pem, "no key"}, TlsIdentity{"no certificate", good.key_pem},
        TlsIdentity{good.certificate_pem, authority_.issue("other").key_pem}}) {
    const auto set = server_->set_tls(bad);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, ErrorCode::bad_input);
    EXPECT_EQ(set.error().message.find("BEGIN"), std::string::npos);
  }
  EXPECT_TRUE(ask(authority_, {.path = "/echo"}));
}

TEST_F(TlsTest, WhoSpeaksPlainHttpIsToldToSpeakTls) {
  start_private();
  RawPeer plain = connect();
  ASSERT_TRUE(plain.send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n"));
  const HttpResponse told = plain.read_response();
  EXPECT_EQ(told.status, 400);
  EXPECT_NE(told.body.find("https://"), std::string::npos) << told.body;
  EXPECT_TRUE(plain.is_closed());
  EXPECT_FALSE(plain.was_reset());
  EXPECT_EQ(handler_.requests, 0);
  EXPECT_TRUE(ask(authority_, {.path = "/echo"}));
}

TEST_F(TlsTest, WhatIsNoHandshakeIsLeft) {
  options_.limits.header_ms = 3000;
  start_private();
  RawPeer garbage = connect();
  ASSERT_TRUE(garbage.send(std::string(10'000, '\x16')));
  garbage.read_to_end();
  RawPeer silent = connect();
  EXPECT_TRUE(silent.is_closed()) << "it was given time, and took it all";
  EXPECT_EQ(handler_.requests, 0);
  EXPECT_TRUE(ask(authority_, {.path = "/echo"}));
}

TEST_F(TlsTest, APlainServerIsNoPrivateOne) {
  start();
  const auto answer = ask(authority_, {.path = "/echo"});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, ErrorCode::io) << answer.error().message;
}

}  // namespace
}  // namespace drover
