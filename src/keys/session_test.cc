#include "keys/session.h"

#include "keys/folder_fixture.h"
#include "keys/key_ring.h"

namespace drover {
namespace {

constexpr std::int64_t kUntil = kNow + 60'000;
const SecretText kServerSecret(std::string(64, 's'));
const Uuid kWhichJob = Uuid::from_random({3});
constexpr Token kToken{GrantId{5}, ItemIndex{7}};

SessionCredentials of_attempt(const SecretText& secret = kServerSecret, std::string_view giver = "AKDRGIVER") {
  return attempt_credentials(make_attempts_key(secret, kWhichJob, giver, kUntil).reveal(), kToken, AttemptNumber{2});
}

FoundSigner check(const SessionCredentials& it, std::int64_t now_ms = kNow) {
  return check_session(kServerSecret, it.key_id, it.session_token, now_ms);
}

TEST(Session, AnAttemptIsKnownByItsToken) {
  const SessionCredentials made = of_attempt();
  const auto found = check(made);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->caller.job, kWhichJob);
  EXPECT_EQ(found->caller.attempt, kToken);
  EXPECT_EQ(found->caller.key_id, "AKDRGIVER");
  EXPECT_TRUE(found->caller.has_session());
  EXPECT_TRUE(found->secret.equals(made.secret));
  EXPECT_EQ(made.secret.size(), 40U);
  EXPECT_EQ(made.key_id.size(), 20U);
}

TEST(Session, AttemptsDifferInAllThatTheyGet) {
  const SecretText key = make_attempts_key(kServerSecret, kWhichJob, "AKDRGIVER", kUntil);
  const SessionCredentials one = attempt_credentials(key.reveal(), kToken, AttemptNumber{1});
  for (const auto& [token, attempt] : {std::pair(kToken, 2U), std::pair(Token{GrantId{5}, ItemIndex{8}}, 1U),
                                       std::pair(Token{GrantId{6}, ItemIndex{7}}, 1U)}) {
    const SessionCredentials other = attempt_credentials(key.reveal(), token, AttemptNumber{attempt});
    EXPECT_NE(other.secret, one.secret);
    EXPECT_NE(other.session_token, one.session_token);
    EXPECT_NE(other.key_id, one.key_id);
  }
  EXPECT_EQ(one.session_token.find(key.reveal().substr(key.reveal().rfind('.') + 1)), std::string::npos)
      << "what the worker has stays with it";
}

TEST(Session, WhatWasChangedIsRefused) {
  const SessionCredentials made = of_attempt();
  for (std::size_t i = 0; i < made.session_token.size(); ++i) {
    SessionCredentials changed = made;
    changed.session_token[i] = changed.session_token[i] == 'x' ? 'y' : 'x';
    changed.key_id = session_key_id(changed.session_token);
    EXPECT_FALSE(check(changed)) << changed.session_token;
  }
  for (const char* token :
       {"", "drover-attempt-", "drover-session-", "drover-session-.", "x", "drover-attempt-......."}) {
    const auto found = check({session_key_id(token), "", token});
    ASSERT_FALSE(found);
    EXPECT_FALSE(found.error().has_expired);
  }
  EXPECT_FALSE(check({"ASDRAAAAAAAAAAAAAAAA", "", made.session_token})) << "another access key";
  EXPECT_FALSE(check(of_attempt(SecretText(std::string(64, 'o'))))) << "another server's";
}

TEST(Session, ExpiresAtItsTime) {
  EXPECT_TRUE(check(of_attempt(), kUntil - 1));
  const auto late = check(of_attempt(), kUntil);
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().has_expired);
  const SessionCredentials role =
      make_session(kServerSecret, {.giver = "AKDRGIVER", .role = "a.b", .name = "me", .expires_ms = kUntil});
  EXPECT_TRUE(check(role, kUntil - 1));
  EXPECT_TRUE(check(role, kUntil).error().has_expired);
}

TEST(Session, OfARoleSaysWhichAndWhose) {
  const SessionCredentials made = make_session(
      kServerSecret,
      {.giver = "AKDRGIVER", .role = "a.b", .name = "me", .job = kWhichJob, .attempt = kToken, .expires_ms = kUntil});
  const auto found = check(made);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->caller.role, "a.b");
  EXPECT_EQ(found->caller.session, "me");
  EXPECT_EQ(found->caller.job, kWhichJob);
  EXPECT_EQ(found->caller.attempt, kToken);
}

class SessionRing : public FolderTest {};

TEST_F(SessionRing, ASessionIsGoodAsLongAsTheKeyThatGaveIt) {
  auto ring = KeyRing::open(in_folder("keys.json"), kNow);
  ASSERT_TRUE(ring);
  const auto key =
      (*ring)->create({.scope = Scope::read, .label = "dashboard", .expires_ms = {}, .fleet = {}, .worker = {}}, kNow);
  ASSERT_TRUE(key);
  const SessionCredentials made = (*ring)->new_session({.giver = key->info.id, .expires_ms = kUntil});
  const auto found = (*ring)->signer(made.key_id, made.session_token, kNow);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->caller.scope, Scope::read);
  EXPECT_FALSE(found->caller.has_session());
  EXPECT_TRUE(found->caller.is_temporary);
  const auto itself = (*ring)->signer(key->info.id, {}, kNow);
  ASSERT_TRUE(itself);
  EXPECT_FALSE(itself->caller.is_temporary);
  ASSERT_TRUE((*ring)->remove(key->info.id));
  EXPECT_FALSE((*ring)->signer(made.key_id, made.session_token, kNow));
}

}  // namespace
}  // namespace drover
