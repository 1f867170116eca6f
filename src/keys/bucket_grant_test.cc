#include "keys/bucket_grant.h"

#include <gtest/gtest.h>

#include <optional>

#include "keys/folder_fixture.h"
#include "keys/key_ring.h"

namespace drover {
namespace {

TEST(BucketGrant, ItsAccessReadsBack) {
  for (const BucketAccess access : {BucketAccess::read, BucketAccess::write, BucketAccess::read_write}) {
    EXPECT_EQ(parse_bucket_access(to_string(access)), access);
  }
  for (const std::string_view text : {"", "own", "READ", "read,write"}) {
    EXPECT_EQ(parse_bucket_access(text).error().code, ErrorCode::bad_input) << text;
  }
}

TEST(BucketGrant, ReadWriteIsBoth) {
  EXPECT_TRUE((BucketGrant{"photos", "", BucketAccess::read}.reads()));
  EXPECT_FALSE((BucketGrant{"photos", "", BucketAccess::read}.writes()));
  EXPECT_FALSE((BucketGrant{"photos", "", BucketAccess::write}.reads()));
  EXPECT_TRUE((BucketGrant{"photos", "", BucketAccess::write}.writes()));
  EXPECT_TRUE((BucketGrant{"photos", "", BucketAccess::read_write}.reads()));
  EXPECT_TRUE((BucketGrant{"photos", "", BucketAccess::read_write}.writes()));
}

class BucketKeys : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    path_ = in_folder("keys.json");
  }
  std::unique_ptr<KeyRing> open() { return std::move(*KeyRing::open(path_, kNow)); }

  std::string path_;
};

TEST_F(BucketKeys, ComeBackAfterARestartAsTheyWere) {
  const BucketGrant grant{"photos", "in/Jürgen 🐄/", BucketAccess::write};
  const auto key = open()->create({.scope = Scope::bucket, .label = "partner", .grant = grant}, kNow);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->info.grant, grant);
  const auto ring = open();
  const auto caller = ring->check(key->bearer().reveal(), kNow);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->scope, Scope::bucket);
  EXPECT_EQ(caller->grant, grant);
  for (const Action action : kActions) EXPECT_FALSE(caller->may(action));
  const auto signer = ring->signer(key->info.id, {}, kNow);
  ASSERT_TRUE(signer);
  EXPECT_EQ(signer->caller, *caller);
}

TEST_F(BucketKeys, ThatAreMalformedAreNotMade) {
  const auto ring = open();
  const auto refused = [&](const KeyRequest& request) {
    const auto key = ring->create(request, kNow);
    return !key && key.error().code == ErrorCode::bad_input;
  };
  const auto with = [](std::string bucket, std::string prefix) {
    return KeyRequest{.scope = Scope::bucket, .grant = BucketGrant{std::move(bucket), std::move(prefix)}};
  };
  for (const char* name : {"", "ab", "Photos", "a..b", "photos/in", "ph\notos"}) EXPECT_TRUE(refused(with(name, "")));
  EXPECT_TRUE(refused(with("photos", "two\nlines")));
  EXPECT_TRUE(refused(with("photos", "\xff")));
  EXPECT_TRUE(refused(with("photos", std::string(1025, 'x'))));
  EXPECT_FALSE(refused(with("photos", std::string(1024, 'x'))));
  EXPECT_TRUE(refused({.scope = Scope::bucket})) << "a grant is all that such a key has";
  EXPECT_TRUE(refused({.scope = Scope::read, .grant = BucketGrant{"photos", ""}}));
  EXPECT_TRUE(refused({.scope = Scope::bucket, .fleet = "spot", .grant = BucketGrant{"photos", ""}}));
}

/// As versions before keys for buckets wrote it.
constexpr const char* kOldFile =
    R"({"version":1,"server_secret":"00","keys":[{"id":"AKDRAAAAAAAAAAAAAAAA","secret":"s1","scope":"admin",)"
    R"("label":"first","created_ms":1700000000000,"fleet":""},{"id":"AKDRBBBBBBBBBBBBBBBB","secret":"s2",)"
    R"("scope":"worker","label":"w1","created_ms":1700000000000,"fleet":"spot","expires_ms":1900000000000,)"
    R"("worker":"w1","used_ms":1700000000001}],"join_tokens":[]})";

TEST_F(BucketKeys, AFileFromBeforeThemIsRead) {
  write_text(path_, kOldFile);
  chmod(path_.c_str(), 0600);
  const auto ring = open();
  const auto first = ring->check("AKDRAAAAAAAAAAAAAAAA.s1", kNow);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->scope, Scope::admin);
  EXPECT_EQ(first->grant, std::nullopt);
  EXPECT_EQ(ring->check("AKDRBBBBBBBBBBBBBBBB.s2", kNow)->fleet, "spot");
}

TEST_F(BucketKeys, OnlyAFileWithOneIsKeptFromProgramsThatDoNotKnowThem) {
  const auto ring = open();
  ASSERT_TRUE(ring->create({.scope = Scope::read}, kNow));
  EXPECT_TRUE(content_of(path_).contains(R"("version":1)"));
  const auto key = ring->create({.scope = Scope::bucket, .grant = BucketGrant{"photos", ""}}, kNow);
  ASSERT_TRUE(key);
  EXPECT_TRUE(content_of(path_).contains(R"("version":2)"));
  ASSERT_TRUE(ring->remove(key->info.id));
  EXPECT_TRUE(content_of(path_).contains(R"("version":1)"));
}

TEST_F(BucketKeys, OneWithoutItsGrantIsDamage) {
  const auto ring = open();
  ASSERT_TRUE(ring->create({.scope = Scope::bucket, .grant = BucketGrant{"photos", ""}}, kNow));
  std::string text = content_of(path_);
  text.replace(text.find(R"("bucket":"photos")"), 17, R"("basket":"photos")");
  write_text(path_, text);
  EXPECT_EQ(KeyRing::open(path_, kNow).error().code, ErrorCode::damaged);
}

}  // namespace
}  // namespace drover
