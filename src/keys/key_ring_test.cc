#include "keys/key_ring.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "base/random.h"
#include "base/text.h"
#include "keys/folder_fixture.h"
#include "keys/join_token.h"
#include "keys/random_text.h"

namespace drover {
namespace {

class KeyRings : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    path_ = in_folder(std::string(kKeyRingFile));
  }

  std::unique_ptr<KeyRing> open(std::int64_t now_ms = kNow) {
    auto ring = KeyRing::open(path_, now_ms);
    EXPECT_TRUE(ring) << (ring ? "" : ring.error().message);
    return ring ? std::move(*ring) : nullptr;
  }

  Error refusal(std::int64_t now_ms = kNow) { return KeyRing::open(path_, now_ms).error(); }

  std::string path_;
};

std::string bearer(const Key& key) {
  return key.bearer().reveal();
}

std::string words(const Error& error) {
  return error.message + " / " + error.next;
}

bool consists_of(std::string_view text, std::string_view alphabet, std::size_t length) {
  return text.size() == length && text.find_first_not_of(alphabet) == std::string_view::npos;
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST_F(KeyRings, TheFirstStartMakesAFileForItsOwnerWithOneAdminKey) {
  const auto ring = open();
  EXPECT_EQ(mode_of(path_), 0600U);
  ASSERT_EQ(ring->list().size(), 1U);
  EXPECT_EQ(ring->list()[0].scope, Scope::admin);
  EXPECT_EQ(ring->list()[0].created_ms, kNow);
  const auto key = read_admin_key(path_, kNow);
  ASSERT_TRUE(key);
  EXPECT_EQ(ring->check(bearer(*key), kNow)->scope, Scope::admin);
}

TEST_F(KeyRings, TheNextStartFindsTheSameKeys) {
  const auto first = open()->list();
  EXPECT_EQ(open()->list(), first);
}

TEST_F(KeyRings, IdsAndSecretsLookLikeThoseOfAws) {
  const auto key = open()->create({.scope = Scope::submit, .label = "ci"}, kNow);
  ASSERT_TRUE(key);
  EXPECT_TRUE(key->info.id.starts_with("AKDR"));
  EXPECT_TRUE(consists_of(key->info.id, kBase32Letters, 20)) << key->info.id;
  EXPECT_TRUE(consists_of(key->secret.reveal(), kLettersAndDigits, 40));
}

TEST_F(KeyRings, AKeyIsKnownByItsSecretAlsoAfterARestart) {
  std::string token;
  {
    const auto ring = open();
    const auto key = ring->create({.scope = Scope::worker, .label = "w1", .fleet = "spot"}, kNow);
    ASSERT_TRUE(key);
    token = bearer(*key);
    EXPECT_TRUE(ring->check(token, kNow));
  }
  const auto caller = open()->check(token, kNow);
  ASSERT_TRUE(caller);
  EXPECT_EQ(*caller, (Caller{.scope = Scope::worker,
                             .key_id = token.substr(0, 20),
                             .label = "w1",
                             .fleet = "spot",
                             .worker = {},
                             .job = std::nullopt}));
}

TEST_F(KeyRings, AnUnknownIdAndAWrongSecretReadTheSame) {
  const auto ring = open();
  const std::string id = ring->list()[0].id;
  const auto wrong_secret = ring->check(id + "." + std::string(40, 'x'), kNow);
  const auto unknown_id = ring->check("AKDRAAAAAAAAAAAAAAAA." + std::string(40, 'x'), kNow);
  ASSERT_FALSE(wrong_secret);
  ASSERT_FALSE(unknown_id);
  EXPECT_EQ(wrong_secret.error().code, ErrorCode::denied);
  EXPECT_EQ(words(wrong_secret.error()), words(unknown_id.error()));
}

TEST_F(KeyRings, WhatIsNoTokenIsDenied) {
  const auto ring = open();
  const std::string id = ring->list()[0].id;
  for (const std::string& text :
       {std::string(), std::string("."), id, id + ".", id + "..", "." + id, std::string("x"),
        std::string("drover-job-"), std::string("drover-job-."), std::string(100'000, '.'), std::string(3, '\0')}) {
    const auto caller = ring->check(text, kNow);
    ASSERT_FALSE(caller);
    EXPECT_EQ(caller.error().code, ErrorCode::denied);
  }
}

TEST_F(KeyRings, AKeyIsGoodUntilItExpires) {
  const auto ring = open();
  const auto key = ring->create({.scope = Scope::read, .label = "x", .expires_ms = kNow + kHour}, kNow);
  ASSERT_TRUE(key);
  EXPECT_TRUE(ring->check(bearer(*key), kNow + kHour - 1));
  const auto late = ring->check(bearer(*key), kNow + kHour);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::denied);
  EXPECT_NE(late.error().message.find("expired"), std::string::npos);
  EXPECT_NE(late.error().message.find(key->info.id), std::string::npos);
}

TEST_F(KeyRings, AnExpiryIsInTheFutureAndWithinTenYears) {
  const auto ring = open();
  for (const std::int64_t wrong : {kNow, kNow - 1, kNow + 3650 * kDay + 1, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_FALSE(ring->create({.scope = Scope::read, .label = "x", .expires_ms = wrong}, kNow));
    EXPECT_FALSE(ring->create_join_token({.expires_ms = wrong, .addresses = {"a:1"}}, kNow));
  }
  EXPECT_TRUE(ring->create({.scope = Scope::read, .label = "x", .expires_ms = kNow + 3650 * kDay}, kNow));
}

TEST_F(KeyRings, WhatExpiredLongAgoIsForgotten) {
  const auto ring = open();
  ASSERT_TRUE(ring->create({.scope = Scope::read, .label = "old", .expires_ms = kNow + kHour}, kNow));
  ASSERT_TRUE(ring->create_join_token({.addresses = {"a:1"}}, kNow));
  ASSERT_TRUE(ring->create({.scope = Scope::read, .label = "a"}, kNow + 6 * kDay));
  EXPECT_EQ(ring->list().size(), 3U);
  EXPECT_EQ(ring->join_tokens().size(), 1U);
  ASSERT_TRUE(ring->create({.scope = Scope::read, .label = "b"}, kNow + 8 * kDay));
  EXPECT_EQ(ring->list().size(), 3U);
  EXPECT_EQ(ring->join_tokens().size(), 0U);
}

TEST_F(KeyRings, ARemovedKeyIsDeniedAtOnceAndAfterARestart) {
  const auto ring = open();
  const auto key = ring->create({.scope = Scope::submit, .label = "x"}, kNow);
  ASSERT_TRUE(ring->remove(key->info.id));
  EXPECT_FALSE(ring->check(bearer(*key), kNow));
  EXPECT_FALSE(open()->check(bearer(*key), kNow));
  EXPECT_EQ(ring->remove(key->info.id).error().code, ErrorCode::not_found);
}

TEST_F(KeyRings, TheLastLastingAdminKeyStays) {
  const auto ring = open();
  const std::string first = ring->list()[0].id;
  ASSERT_TRUE(ring->create({.scope = Scope::admin, .label = "for today", .expires_ms = kNow + kDay}, kNow));
  EXPECT_EQ(ring->remove(first).error().code, ErrorCode::conflict);
  ASSERT_TRUE(ring->create({.scope = Scope::admin, .label = "another"}, kNow));
  EXPECT_TRUE(ring->remove(first));
}

TEST_F(KeyRings, RequestsThatCannotBeRightAreRefused) {
  const auto ring = open();
  const std::vector<KeyRequest> wrong{
      {.scope = Scope::job, .label = "x"},
      {.scope = Scope::read, .label = "two\nlines"},
      {.scope = Scope::read, .label = "\x1b[31m"},
      {.scope = Scope::read, .label = "no UTF-8 \xff"},
      {.scope = Scope::read, .label = std::string(201, 'x')},
      {.scope = Scope::read, .label = "x", .expires_ms = kNow},
      {.scope = Scope::worker, .label = "x", .fleet = "\xc3"},
  };
  for (const KeyRequest& request : wrong) {
    EXPECT_EQ(ring->create(request, kNow).error().code, ErrorCode::bad_input) << request.label;
  }
  EXPECT_EQ(open()->list(), ring->list());
}

TEST_F(KeyRings, LabelsComeBackAsTheyWere) {
  const std::string label = R"(Jürgen's "laptop" \ 🐄)";
  ASSERT_TRUE(open()->create({.scope = Scope::read, .label = label}, kNow));
  const auto list = open()->list();
  EXPECT_TRUE(std::ranges::any_of(list, [&](const KeyInfo& it) { return it.label == label; }));
}

class JoinedKeys : public KeyRings {
 protected:
  void SetUp() override {
    KeyRings::SetUp();
    ring_ = open();
    const auto token =
        ring_->create_join_token({.uses = 9, .expires_ms = kNow + 100 * kDay, .addresses = {"a:1"}}, kNow);
    secret_ = parse_join_token(token->text.reveal())->secret.reveal();
  }

  Key join(const std::string& name, std::int64_t now_ms = kNow) {
    auto key = ring_->join(secret_, concat("nonce-of-this-joining-", ++joined_), name, now_ms);
    EXPECT_TRUE(key);
    return *key;
  }

  std::unique_ptr<KeyRing> ring_;
  std::string secret_;
  int joined_ = 0;
};

TEST_F(JoinedKeys, AreForTheWorkerThatJoinedAlsoAfterARestart) {
  const std::string token = bearer(join("w1"));
  EXPECT_EQ(ring_->check(token, kNow)->worker, "w1");
  EXPECT_EQ(open()->check(token, kNow)->worker, "w1");
  EXPECT_EQ(ring_->check(bearer(*ring_->create({.scope = Scope::worker, .label = "w1"}, kNow)), kNow)->worker, "");
}

TEST_F(JoinedKeys, TakeThePlaceOfTheOneThatTheWorkerHad) {
  const Key made = *ring_->create({.scope = Scope::worker, .label = "w1"}, kNow);
  const Key other = join("w2");
  const Key first = join("w1");
  const Key second = join("w1");
  EXPECT_FALSE(ring_->check(bearer(first), kNow));
  EXPECT_TRUE(ring_->check(bearer(second), kNow));
  EXPECT_TRUE(ring_->check(bearer(other), kNow));
  EXPECT_TRUE(ring_->check(bearer(made), kNow));
  EXPECT_FALSE(ring_->join(secret_, "another nonce of 16", "", kNow));
}

TEST_F(JoinedKeys, GoWhenTheirWorkerIsLongGone) {
  const Key gone = join("gone");
  const Key back = join("back");
  const Key made = *ring_->create({.scope = Scope::worker, .label = "never used"}, kNow);
  ring_->note_use(back.info.id, kNow + 5 * kDay);
  EXPECT_EQ(ring_->sweep(kNow + kGoneMs)->size(), 0U);
  ring_ = open();  // what was used when is on the disk by now
  EXPECT_EQ(*ring_->sweep(kNow + kGoneMs + 1), std::vector{gone.info.id});
  EXPECT_FALSE(ring_->holds(gone.info.id, kNow));
  EXPECT_TRUE(ring_->holds(back.info.id, kNow));
  EXPECT_EQ(*ring_->sweep(kNow + kGoneMs + 5 * kDay + 1), std::vector{back.info.id});
  EXPECT_TRUE(open()->holds(made.info.id, kNow));
}

TEST_F(JoinedKeys, AreNotWrittenAgainForEveryUse) {
  const Key key = join("w1");
  ring_->note_use(key.info.id, kNow + 2 * kDay);
  ASSERT_TRUE(ring_->sweep(kNow + 2 * kDay));
  const std::string written = content_of(path_);
  ring_->note_use(key.info.id, kNow + 2 * kDay + kHour);
  std::filesystem::remove(path_);
  ASSERT_TRUE(ring_->sweep(kNow + 2 * kDay + kHour));
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_NE(written.find(std::to_string(kNow + 2 * kDay)), std::string::npos);
}

TEST_F(KeyRings, AFileThatOthersCanReadIsRefused) {
  open();
  chmod(path_.c_str(), 0640);
  EXPECT_NE(refusal().message.find(path_), std::string::npos);
  EXPECT_NE(refusal().next.find("chmod 600"), std::string::npos);
  EXPECT_FALSE(read_admin_key(path_, kNow));
}

TEST_F(KeyRings, ADamagedFileIsRefusedAndLeftAlone) {
  open();
  const std::string good = content_of(path_);
  for (const std::string& bad : {std::string(), std::string("{}"), std::string("[]"), good.substr(0, good.size() / 2),
                                 replaced(good, "\"admin\"", "\"emperor\""), replaced(good, "created_ms", "made_ms"),
                                 replaced(good, std::to_string(kNow), "\"yesterday\"")}) {
    write_text(path_, bad);
    EXPECT_EQ(refusal().code, ErrorCode::damaged) << bad;
    EXPECT_EQ(content_of(path_), bad);
  }
  write_text(path_, replaced(good, "\"version\":1", "\"version\":3"));
  EXPECT_EQ(refusal().code, ErrorCode::newer_schema);
}

TEST_F(KeyRings, ACrashWhileWritingLeavesTheOldRing) {
  const auto before = open()->list();
  const std::string whole = content_of(path_);
  write_text(path_ + ".new", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(open()->list(), before);
  ASSERT_TRUE(open()->create({.scope = Scope::read, .label = "x"}, kNow));
  EXPECT_EQ(open()->list().size(), 2U);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(KeyRings, WhatCouldNotBeWrittenDidNotHappen) {
  const auto ring = open();
  const auto before = ring->list();
  const auto token = ring->create_join_token({.addresses = {"a:1"}}, kNow);
  std::filesystem::remove(path_);
  std::filesystem::create_directories(path_ + "/in the way");
  EXPECT_FALSE(ring->create({.scope = Scope::read, .label = "x"}, kNow));
  EXPECT_FALSE(ring->remove(token->id));
  EXPECT_FALSE(ring->join(parse_join_token(token->text.reveal())->secret.reveal(), "nonce-0123456789", "w", kNow));
  EXPECT_EQ(ring->list(), before);
  EXPECT_EQ(ring->join_tokens()[0].uses_left, 1U);
}

TEST_F(KeyRings, IsReadByManyWhileItChanges) {
  const auto ring = open();
  const std::string token = bearer(*read_admin_key(path_, kNow));
  std::atomic<bool> done = false;
  std::array<std::thread, 3> readers;
  for (std::thread& reader : readers) {
    reader = std::thread([&] {
      while (!done) {
        EXPECT_TRUE(ring->check(token, kNow));
        EXPECT_GE(ring->list().size(), 1U);
      }
    });
  }
  std::array<std::thread, 2> writers;
  for (std::thread& writer : writers) {
    writer = std::thread([&] {
      for (int j = 0; j < 20; ++j) {
        const auto key = ring->create({.scope = Scope::read, .label = "x"}, kNow);
        ASSERT_TRUE(key);
        EXPECT_TRUE(ring->check(bearer(*key), kNow));
        EXPECT_TRUE(j % 2 != 0 || ring->remove(key->info.id));
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(ring->list().size(), 21U);
  EXPECT_EQ(open()->list(), ring->list());
}

// What a caller could write into a log or an answer: every list, and the words of every error.
TEST_F(KeyRings, NothingThatIsShownHoldsASecret) {
  const auto ring = open();
  const auto expiring = ring->create({.scope = Scope::read, .label = "x", .expires_ms = kNow + kHour}, kNow);
  const auto token = ring->create_join_token({.addresses = {"a:1"}, .ca_fingerprint = "ff"}, kNow);
  const std::string join_secret = parse_join_token(token->text.reveal())->secret.reveal();
  const auto worker = ring->join(join_secret, "nonce-0123456789", "w", kNow);
  const Uuid job = Uuid::from_random({1});
  const std::string job_key = ring->job_key(job, worker->info.id, kNow + kHour).reveal();
  const auto admin = read_admin_key(path_, kNow);

  std::string shown;
  const auto show = [&](const auto& result) {
    ASSERT_FALSE(result);
    shown += words(result.error()) + "\n";
  };
  for (const KeyInfo& it : ring->list()) shown += concat(it.id, it.label, it.fleet, "\n");
  for (const JoinTokenInfo& it : ring->join_tokens()) shown += concat(it.id, it.fleet, "\n");
  show(ring->check(bearer(*expiring), kNow + kDay));
  show(ring->check(bearer(*admin) + "x", kNow));
  show(ring->check(job_key, kNow + kDay));
  show(ring->check(job_key + "x", kNow));
  show(ring->check(join_secret, kNow));
  show(ring->join(join_secret, "nonce-9876543210", "w2", kNow));
  show(ring->join(join_secret, "nonce-9876543210", "w2", kNow + kDay));
  show(ring->join(join_secret + "x", "nonce-9876543210", "w2", kNow));
  ASSERT_TRUE(ring->remove(worker->info.id));
  show(ring->join(join_secret, "nonce-0123456789", "w", kNow));
  show(ring->remove("AKDR"));
  show(parse_join_token(token->text.reveal().substr(0, 100)));
  show(parse_join_token(join_secret));
  const std::string file = content_of(path_);
  write_text(path_, file.substr(0, file.size() - 1));
  shown += words(refusal());
  chmod(path_.c_str(), 0644);
  shown += words(refusal());

  std::vector<std::string> secrets{admin->secret.reveal(),
                                   expiring->secret.reveal(),
                                   worker->secret.reveal(),
                                   join_secret.substr(join_secret.find('.') + 1),
                                   job_key.substr(job_key.rfind('.') + 1),
                                   token->text.reveal().substr(20)};
  constexpr std::string_view kField = "\"server_secret\":\"";
  ASSERT_NE(file.find(kField), std::string::npos);
  secrets.push_back(file.substr(file.find(kField) + kField.size(), 64));
  for (const std::string& secret : secrets) {
    ASSERT_GE(secret.size(), 40U);
    for (std::size_t at = 0; at + 8 <= secret.size(); ++at) {
      ASSERT_EQ(shown.find(secret.substr(at, 8)), std::string::npos) << shown;
    }
  }
}

std::string mutated(const std::string& text, Random& random) {
  std::string out = text;
  for (std::uint64_t changes = 1 + random.below(3); changes > 0; --changes) {
    const std::size_t at = random.below(out.size() + 1);
    switch (random.below(5)) {
      case 0: out.insert(at, 1, static_cast<char>(random.below(256))); break;
      case 1: out.erase(at, 1 + random.below(4)); break;
      case 2: out.resize(at); break;
      case 3:
        if (at < out.size()) out[at] = static_cast<char>(out[at] ^ (1 << random.below(8)));
        break;
      default:
        if (at < out.size()) std::swap(out[at], out[random.below(out.size())]);
    }
  }
  return out;
}

TEST_F(KeyRings, NoMutatedTokenIsAccepted) {
  const auto ring = open();
  const auto issued = ring->create_join_token({.uses = 3, .addresses = {"a:1"}, .ca_fingerprint = "ff"}, kNow);
  const std::string join_text = issued->text.reveal();
  const std::string join_secret = parse_join_token(join_text)->secret.reveal();
  const std::vector<std::string> tokens{
      bearer(*read_admin_key(path_, kNow)),
      ring->job_key(Uuid::from_random({1}), ring->list()[0].id, kNow + kHour).reveal(), join_secret};
  constexpr std::uint64_t kSeed = 20'261;
  RecordProperty("seed", std::to_string(kSeed));
  Random random(kSeed);
  for (int i = 0; i < 10'000; ++i) {
    const std::string token = mutated(tokens[random.below(tokens.size())], random);
    if (std::ranges::find(tokens, token) != tokens.end()) continue;
    ASSERT_FALSE(ring->check(token, kNow)) << token;
    ASSERT_FALSE(ring->join(token, "nonce-0123456789", "w", kNow)) << token;
    // A join token's other parts may be read differently, but never as another secret that is good.
    const auto parsed = parse_join_token(mutated(join_text, random));
    if (parsed && !parsed->secret.equals(join_secret)) {
      ASSERT_FALSE(ring->join(parsed->secret.reveal(), "nonce-0123456789", "w", kNow));
    }
  }
  EXPECT_EQ(ring->join_tokens()[0].uses_left, 3U);
}

TEST_F(KeyRings, AKeyMadeForOneWorkerTakesThePlaceOfTheOneItHad) {
  const auto ring = open();
  const auto first = ring->create({.scope = Scope::worker, .label = "w1", .worker = "w1"}, kNow);
  const auto other = ring->create({.scope = Scope::worker, .label = "w2", .worker = "w2"}, kNow);
  ASSERT_TRUE(first && other);
  EXPECT_EQ(ring->check(bearer(*first), kNow)->worker, "w1");
  const auto second = ring->create({.scope = Scope::worker, .label = "w1", .worker = "w1"}, kNow);
  ASSERT_TRUE(second);
  EXPECT_FALSE(ring->check(bearer(*first), kNow));
  EXPECT_TRUE(ring->check(bearer(*second), kNow));
  EXPECT_TRUE(ring->check(bearer(*other), kNow));
  EXPECT_EQ(ring->create({.scope = Scope::read, .label = {}, .worker = "w1"}, kNow).error().code, ErrorCode::bad_input);
}

}  // namespace
}  // namespace drover
