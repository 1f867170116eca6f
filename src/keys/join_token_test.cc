#include "keys/join_token.h"

#include "keys/folder_fixture.h"
#include "keys/key_ring.h"

namespace drover {
namespace {

const std::string kNonce = "nonce-of-the-first";
const std::string kOtherNonce = "nonce-of-the-second";

class Joining : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    reopen();
  }

  void reopen() { ring_ = std::move(*KeyRing::open(in_folder("keys.json"), kNow)); }

  std::string token(JoinTokenRequest request = {}) {
    request.addresses = {"10.0.0.1:8750"};
    const auto issued = ring_->create_join_token(request, kNow);
    EXPECT_TRUE(issued);
    id_ = issued->id;
    return parse_join_token(issued->text.reveal())->secret.reveal();
  }

  std::string denial(const std::string& secret, const std::string& nonce, std::int64_t now_ms = kNow) {
    const auto key = ring_->join(secret, nonce, "w", now_ms);
    EXPECT_FALSE(key);
    if (key) return {};
    EXPECT_EQ(key.error().code, ErrorCode::denied);
    return key.error().message;
  }

  std::unique_ptr<KeyRing> ring_;
  std::string id_;
};

TEST(JoinToken, ItsTextReadsBack) {
  const JoinToken token{.addresses = {"server.example:8750", "[2001:db8::1]:8750"},
                        .ca_fingerprint = std::string(64, 'a'),
                        .secret = SecretText(std::string("JNDRAAAAAAAAAAAAAAAA.secret"))};
  const SecretText text = join_token_text(token);
  EXPECT_TRUE(text.reveal().starts_with("drover-join-"));
  EXPECT_EQ(text.reveal().find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
            std::string::npos);
  const auto parsed = parse_join_token("  " + text.reveal() + "\r\n");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->addresses, token.addresses);
  EXPECT_EQ(parsed->ca_fingerprint, token.ca_fingerprint);
  EXPECT_TRUE(parsed->secret.equals(token.secret.reveal()));
}

TEST(JoinToken, EveryPieceOfOneIsRefused) {
  const std::string whole =
      join_token_text({.addresses = {"a:1"}, .ca_fingerprint = "f", .secret = SecretText(std::string("x.y"))}).reveal();
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const auto parsed = parse_join_token(whole.substr(0, length));
    ASSERT_FALSE(parsed) << length;
    EXPECT_EQ(parsed.error().code, ErrorCode::bad_input);
  }
}

TEST(JoinToken, WhatIsNoneIsRefused) {
  // {"a":"x","f":"","s":""}, {"a":[],"f":"","s":7}, {"a":[1],"f":"","s":""}, [] and nothing
  for (const char* text : {"", " ", "hello", "drover-join-", "drover-join-!!!",
                           "drover-join-eyJhIjoieCIsImYiOiIiLCJzIjoiIn0", "drover-join-eyJhIjpbXSwiZiI6IiIsInMiOjd9",
                           "drover-join-eyJhIjpbMV0sImYiOiIiLCJzIjoiIn0", "drover-join-W10", "drover-join-bnVsbA"}) {
    EXPECT_EQ(parse_join_token(text).error().code, ErrorCode::bad_input) << text;
  }
}

TEST_F(Joining, GivesAWorkerAKeyOfItsOwn) {
  const auto key = ring_->join(token({.fleet = "spot"}), kNonce, "w1", kNow);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->info.scope, Scope::worker);
  EXPECT_EQ(key->info.label, "w1");
  EXPECT_EQ(key->info.fleet, "spot");
  EXPECT_EQ(ring_->check(key->bearer().reveal(), kNow)->fleet, "spot");
  reopen();
  EXPECT_TRUE(ring_->check(key->bearer().reveal(), kNow)) << "it was durable before it was answered";
}

TEST_F(Joining, IsForOneWorkerAndOneHourUnlessSaid) {
  const std::string secret = token();
  EXPECT_EQ(ring_->join_tokens()[0].expires_ms, kNow + kHour);
  EXPECT_TRUE(ring_->join(secret, kNonce, "w1", kNow + kHour - 1));
  EXPECT_NE(denial(secret, kOtherNonce).find("used up"), std::string::npos);
}

TEST_F(Joining, OfOneWorkerIsForNoOther) {
  const std::string secret = token({.worker = "m1"});
  reopen();
  EXPECT_EQ(ring_->join_tokens()[0].worker, "m1");
  EXPECT_EQ(denial(secret, kNonce), concat("the join token ", id_, " is for worker 'm1' alone"));
  EXPECT_TRUE(ring_->join(secret, kNonce, "m1", kNow));
}

TEST_F(Joining, TwiceWithTheSameNonceIsJoiningOnce) {
  const std::string secret = token({.uses = 2});
  const auto first = ring_->join(secret, kNonce, "w1", kNow);
  reopen();
  const auto second = ring_->join(secret, kNonce, "w1 again", kNow);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->info, second->info);
  EXPECT_TRUE(first->secret.equals(second->secret.reveal()));
  EXPECT_EQ(ring_->join_tokens()[0].uses_left, 1U);
  EXPECT_EQ(ring_->join_tokens()[0].joined, 1U);

  const auto other = ring_->join(secret, kOtherNonce, "w2", kNow);
  ASSERT_TRUE(other);
  EXPECT_NE(other->info.id, first->info.id);
  EXPECT_TRUE(ring_->join(secret, kNonce, "w1", kNow)) << "also when it is used up";
}

TEST_F(Joining, IsRefusedWhenTheTokenHasExpired) {
  const std::string secret = token({.uses = 2, .expires_ms = kNow + 1000});
  ASSERT_TRUE(ring_->join(secret, kNonce, "w1", kNow + 999));
  EXPECT_NE(denial(secret, kOtherNonce, kNow + 1000).find("expired"), std::string::npos);
  EXPECT_NE(denial(secret, kNonce, kNow + 1000).find("expired"), std::string::npos);
}

TEST_F(Joining, AnUnknownTokenAndAWrongSecretReadTheSame) {
  const std::string secret = token({.expires_ms = kNow + 1000});
  const std::string unknown = denial("JNDRAAAAAAAAAAAAAAAA." + std::string(40, 'x'), kNonce);
  EXPECT_EQ(denial(id_ + "." + std::string(40, 'x'), kNonce), unknown);
  EXPECT_EQ(denial("", kNonce), unknown);
  EXPECT_EQ(denial(id_, kNonce), unknown);
  EXPECT_EQ(denial(id_ + ".x", kNonce, kNow + kHour), unknown) << "that it has expired is for those who have it";
  ASSERT_TRUE(ring_->join(secret, kNonce, "w1", kNow));
  EXPECT_EQ(denial(id_ + ".x", kOtherNonce), unknown) << "and so is that it is used up";
}

TEST_F(Joining, AKeyIsNoJoinTokenAndAJoinTokenIsNoKey) {
  const std::string secret = token();
  EXPECT_FALSE(ring_->check(secret, kNow));
  const auto admin = read_admin_key(in_folder("keys.json"), kNow);
  EXPECT_FALSE(ring_->join(admin->bearer().reveal(), kNonce, "w1", kNow));
}

TEST_F(Joining, ARemovedTokenIsUnknownAndItsKeysStay) {
  const std::string secret = token({.uses = 2});
  const auto key = ring_->join(secret, kNonce, "w1", kNow);
  ASSERT_TRUE(ring_->remove(id_));
  EXPECT_FALSE(ring_->join(secret, kOtherNonce, "w2", kNow));
  EXPECT_TRUE(ring_->check(key->bearer().reveal(), kNow));
}

TEST_F(Joining, ARemovedKeyDoesNotComeBack) {
  const std::string secret = token({.uses = 2});
  const auto key = ring_->join(secret, kNonce, "w1", kNow);
  ASSERT_TRUE(ring_->remove(key->info.id));
  EXPECT_NE(denial(secret, kNonce).find("removed"), std::string::npos);
}

TEST_F(Joining, TheFileKnowsOnlyAHashOfTheSecret) {
  const std::string secret = token();
  const std::string file = content_of(in_folder("keys.json"));
  EXPECT_NE(file.find(id_), std::string::npos);
  EXPECT_EQ(file.find(secret.substr(secret.find('.') + 1)), std::string::npos);
}

TEST_F(Joining, RequestsThatCannotBeRightAreRefused) {
  const std::vector<JoinTokenRequest> wrong{
      {.uses = 0, .addresses = {"a:1"}},
      {.uses = 100'001, .addresses = {"a:1"}},
      {.addresses = {}},
      {.addresses = {"\xff"}},
      {.expires_ms = kNow, .addresses = {"a:1"}},
      {.fleet = "a\nb", .addresses = {"a:1"}},
  };
  for (const JoinTokenRequest& request : wrong) {
    EXPECT_EQ(ring_->create_join_token(request, kNow).error().code, ErrorCode::bad_input);
  }
  const std::string secret = token();
  EXPECT_EQ(ring_->join(secret, "short", "w1", kNow).error().code, ErrorCode::bad_input);
  EXPECT_EQ(ring_->join(secret, std::string(201, 'n'), "w1", kNow).error().code, ErrorCode::bad_input);
  EXPECT_EQ(ring_->join(secret, kNonce, "w\n1", kNow).error().code, ErrorCode::bad_input);
  EXPECT_EQ(ring_->join_tokens()[0].uses_left, 1U);
}

}  // namespace
}  // namespace drover
