#include "keys/job_key.h"

#include "keys/folder_fixture.h"
#include "keys/key_ring.h"

namespace drover {
namespace {

constexpr std::int64_t kEnd = kNow + 60'000;
constexpr std::string_view kGiver = "AKDRAAAAAAAAAAAAAAAA";
const SecretText kSecret(std::string(64, 'a'));
const Uuid kJob = Uuid::from_random({1});

TEST(JobKey, SaysWhoseItIs) {
  const auto caller = check_job_key(kSecret, make_job_key(kSecret, kJob, kGiver, kEnd).reveal(), kNow);
  ASSERT_TRUE(caller);
  EXPECT_EQ(*caller, (Caller{.scope = Scope::job,
                             .key_id = std::string(kGiver),
                             .label = "job " + kJob.text(),
                             .fleet = {},
                             .worker = {},
                             .job = kJob}));
}

TEST(JobKey, IsTheSameEachTimeItIsMade) {
  EXPECT_TRUE(make_job_key(kSecret, kJob, kGiver, kEnd).equals(make_job_key(kSecret, kJob, kGiver, kEnd).reveal()));
}

TEST(JobKey, FitsInAHeaderAndAVariable) {
  const std::string text = make_job_key(kSecret, kJob, kGiver, INT64_MAX).reveal();
  EXPECT_LE(text.size(), 200U);
  EXPECT_EQ(text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."),
            std::string::npos);
  EXPECT_TRUE(check_job_key(kSecret, text, kNow));
}

TEST(JobKey, Expires) {
  const SecretText key = make_job_key(kSecret, kJob, kGiver, kEnd);
  EXPECT_TRUE(check_job_key(kSecret, key.reveal(), kEnd - 1));
  const auto late = check_job_key(kSecret, key.reveal(), kEnd);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::denied);
  EXPECT_NE(late.error().message.find("expired"), std::string::npos);
}

TEST(JobKey, WithAnyOtherLetterIsDenied) {
  const std::string key = make_job_key(kSecret, kJob, kGiver, kEnd).reveal();
  for (std::size_t at = 0; at < key.size(); ++at) {
    for (const char letter : {'0', '1', '9', 'a', 'A', '.', '-', '_', '\0'}) {
      if (key[at] == letter) continue;
      std::string changed = key;
      changed[at] = letter;
      ASSERT_EQ(check_job_key(kSecret, changed, kNow).error().code, ErrorCode::denied) << changed;
    }
    ASSERT_FALSE(check_job_key(kSecret, key.substr(0, at), kNow));
  }
  EXPECT_FALSE(check_job_key(kSecret, key + "A", kNow));
  EXPECT_FALSE(check_job_key(kSecret, key + ".", kNow));
}

TEST(JobKey, OfAnotherServerIsDenied) {
  const SecretText other(std::string(64, 'b'));
  EXPECT_FALSE(check_job_key(kSecret, make_job_key(other, kJob, kGiver, kEnd).reveal(), kNow));
}

using JobKeyOfARing = FolderTest;

TEST_F(JobKeyOfARing, IsKnownAfterARestartAndStoredNowhere) {
  const std::string path = in_folder("keys.json");
  const std::string giver = (*KeyRing::open(path, kNow))->list()[0].id;
  const SecretText key = (*KeyRing::open(path, kNow))->job_key(kJob, giver, kEnd);
  const auto ring = std::move(*KeyRing::open(path, kNow));
  const auto caller = ring->check(key.reveal(), kNow);
  ASSERT_TRUE(caller);
  EXPECT_EQ(caller->job, kJob);
  EXPECT_TRUE(caller->may(Action::read, kJob));
  EXPECT_FALSE(caller->may(Action::read));
  EXPECT_EQ(content_of(path).find(kJob.text()), std::string::npos);
}

TEST_F(JobKeyOfARing, GoesWithTheKeyOfTheWorkerItWasGivenTo) {
  const auto ring = std::move(*KeyRing::open(in_folder("keys.json"), kNow));
  const auto worker = ring->create({.scope = Scope::worker, .label = "w", .expires_ms = kEnd}, kNow);
  const SecretText key = ring->job_key(kJob, worker->info.id, 2 * kEnd);
  EXPECT_TRUE(ring->check(key.reveal(), kNow));
  EXPECT_FALSE(ring->check(key.reveal(), kEnd));
  ASSERT_TRUE(ring->remove(worker->info.id));
  EXPECT_EQ(ring->check(key.reveal(), kNow).error().code, ErrorCode::denied);
}

}  // namespace
}  // namespace drover
