#include "worker/item_staging.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

/// The owner's thread: what is posted waits until it is run.
class Posted {
 public:
  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      work_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  /// Runs what is posted, in order, until the condition holds.
  void run_until(const std::function<bool()>& holds) {
    while (!holds()) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !work_.empty(); });
      const auto work = std::move(work_.front());
      work_.pop_front();
      lock.unlock();
      work();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;
};

class ItemStagingTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ + "/store");
    write(folder_ + "/store/a.txt", "hello");
    staging_ = std::make_unique<ItemStaging>(folder_ + "/items", StoreOpener::Outside{},
                                             [this](std::function<void()> work) { posted_.post(std::move(work)); });
  }
  void TearDown() override {
    staging_.reset();
    EXPECT_FALSE(fs::exists(folder_ + "/items")) << "everything is removed";
    fs::remove_all(folder_);
  }

  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  static std::string read(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  std::string store(const std::string& key) const { return concat("file://", folder_, "/store/", key); }
  /// Waits until it is there, or why it is not.
  Result<ItemStaging::Fetched> prepare(Token token, const std::string& uri) {
    bool done = false;
    staging_->prepare(token, uri, nobody_, [&] { done = true; });
    posted_.run_until([&] { return done; });
    return *staging_->fetched(token);
  }
  Result<std::uint64_t> collect(Token token, const std::string& prefix) {
    std::optional<Result<std::uint64_t>> out;
    staging_->collect(token, prefix, nobody_, [&](const Result<std::uint64_t>& files) { out = files; });
    posted_.run_until([&] { return out.has_value(); });
    return *out;
  }

  const std::string folder_ = concat(fs::temp_directory_path().string(), "/drover-staging-", ::getpid());
  const StoreOpener::Variable nobody_ = [](const std::string&) { return std::optional<std::string>(); };
  const Token token_{GrantId{3}, ItemIndex{7}};
  Posted posted_;
  std::unique_ptr<ItemStaging> staging_;
};

TEST_F(ItemStagingTest, AnObjectComesAndWhatIsLeftGoes) {
  const auto fetched = prepare(token_, store("a.txt"));
  ASSERT_TRUE(fetched) << fetched.error().message;
  EXPECT_EQ(fetched->name, "a.txt");
  const auto folder = staging_->move_to_slot(token_, 2);
  ASSERT_TRUE(folder);
  EXPECT_EQ(*folder, folder_ + "/items/slot-2/3-7");
  EXPECT_EQ(read(*folder + "/in/a.txt"), "hello");
  fs::create_directories(*folder + "/out/deep/er");
  write(*folder + "/out/b.txt", "b");
  write(*folder + "/out/deep/er/c.txt", "c");
  fs::create_symlink("/etc/passwd", *folder + "/out/link");
  const auto uploaded = collect(token_, store("out"));
  ASSERT_TRUE(uploaded) << uploaded.error().message;
  EXPECT_EQ(*uploaded, 2U) << "links are not followed";
  EXPECT_EQ(read(folder_ + "/store/out/b.txt"), "b");
  EXPECT_EQ(read(folder_ + "/store/out/deep/er/c.txt"), "c");
  staging_->drop(token_);
  EXPECT_FALSE(staging_->has(token_));
}

TEST_F(ItemStagingTest, WhatCannotBeFetchedOrUploadedIsNamed) {
  const auto missing = prepare(token_, store("none"));
  ASSERT_FALSE(missing);
  EXPECT_TRUE(missing.error().message.starts_with(concat("cannot download ", store("none"))))
      << missing.error().message;
  const Token other{GrantId{3}, ItemIndex{8}};
  ASSERT_TRUE(prepare(other, ""));
  const auto folder = staging_->move_to_slot(other, 0);
  write(*folder + "/out/b.txt", "b");
  const auto uploaded = collect(other, store("a.txt"));
  ASSERT_FALSE(uploaded) << "a file is in the way of the folder";
  EXPECT_TRUE(uploaded.error().message.starts_with(concat("cannot upload ", store("a.txt/b.txt"))))
      << uploaded.error().message;
}

TEST_F(ItemStagingTest, WhatIsDroppedMeanwhileIsRemovedWhenItsFetchOrUploadHasEnded) {
  staging_->prepare(token_, store("a.txt"), nobody_, [] { FAIL() << "nobody waits for it any more"; });
  staging_->drop(token_);
  EXPECT_FALSE(staging_->has(token_));
  const Token other{GrantId{3}, ItemIndex{8}};
  ASSERT_TRUE(prepare(other, ""));
  const auto folder = staging_->move_to_slot(other, 0);
  write(*folder + "/out/b.txt", "b");
  bool done = false;
  staging_->collect(other, store("out"), nobody_, [&](const Result<std::uint64_t>&) { done = true; });
  staging_->stop(other);
  staging_->drop(other);
  EXPECT_TRUE(staging_->has(other)) << "its upload has not ended";
  posted_.run_until([&] { return done; });
  EXPECT_FALSE(staging_->has(other));
}

}  // namespace
}  // namespace drover
