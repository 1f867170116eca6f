#include "worker/spool_index.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "ports/entropy.h"

namespace drover {
namespace {

SpooledAttempt attempt(std::uint64_t item) {
  SpooledAttempt out;
  out.ended.token = {GrantId{5}, ItemIndex{item}};
  out.ended.outcome = {.ending = Ending::exited, .exit_code = 3, .reason = "as it says"};
  out.ended.usage.wall_us = 1234;
  out.ended.log = {.extents = {}, .bytes = 77, .last_line = "it broke"};
  out.key = {JobId{2}, ItemIndex{item}, AttemptNumber{4}};
  ExtentList here;
  here.add({1, 100 * item, 50});
  out.in_spool = here.encode();
  out.sent.frames = 2;
  out.sent.places.add({9, 0, 10});
  return out;
}

class SpoolIndexTest : public testing::Test {
 protected:
  SpoolIndexTest() { reopen(); }
  ~SpoolIndexTest() override { std::filesystem::remove_all(folder_); }

  void reopen() {
    std::filesystem::create_directories(folder_);
    index_.reset();
    auto opened = SpoolIndex::open(folder_);
    ASSERT_TRUE(opened);
    index_ = std::move(*opened);
  }
  void add(std::uint64_t item, std::uint64_t incarnation = 7) {
    ASSERT_TRUE(index_->add(WorkerId{3}, incarnation, {attempt(item)}));
  }
  void forget(std::uint64_t item) { ASSERT_TRUE(index_->forget({Token{GrantId{5}, ItemIndex{item}}})); }
  std::vector<std::uint64_t> found() {
    reopen();
    std::vector<std::uint64_t> items;
    for (const SpooledAttempt& it : index_->found().attempts) items.push_back(it.ended.token.item.value);
    return items;
  }
  std::uintmax_t bytes() const { return std::filesystem::file_size(path()); }
  std::string path() const { return folder_ / "index"; }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("drover-index-" + std::to_string(random_number()));
  std::unique_ptr<SpoolIndex> index_;
};

using Items = std::vector<std::uint64_t>;

TEST_F(SpoolIndexTest, WhatWasAddedIsFoundAgainInOrderUnlessItWasTold) {
  for (const std::uint64_t item : {30, 10, 20}) add(item);
  forget(10);
  EXPECT_EQ(found(), (Items{30, 20}));
  const SpooledAttempt& it = index_->found().attempts[0];
  const SpooledAttempt same = attempt(30);
  EXPECT_EQ(it.ended, same.ended);
  EXPECT_EQ(it.key, same.key);
  EXPECT_EQ(it.in_spool, same.in_spool);
  EXPECT_EQ(it.sent.frames, 2U);
  EXPECT_EQ(it.sent.places.encode(), same.sent.places.encode());
  EXPECT_EQ(index_->found().worker, WorkerId{3});
  EXPECT_EQ(index_->found().incarnation, 7U);
  forget(30);
  EXPECT_EQ(found(), Items{20});
  forget(20);
  EXPECT_EQ(bytes(), 0U);
  EXPECT_TRUE(found().empty());
}

TEST_F(SpoolIndexTest, ATornEndIsCutOff) {
  add(1);
  const auto whole = bytes();
  add(2);
  std::filesystem::resize_file(path(), bytes() - 5);
  EXPECT_EQ(found(), Items{1});
  EXPECT_EQ(bytes(), whole);
  add(3);
  EXPECT_EQ(found(), (Items{1, 3}));
}

TEST_F(SpoolIndexTest, ADamagedRecordEndsIt) {
  add(1);
  const auto whole = bytes();
  add(2);
  {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(whole) + 30);
    file.put('\x7f');
  }
  EXPECT_EQ(found(), Items{1});
}

TEST_F(SpoolIndexTest, OnlyTheNewestIncarnationIsFound) {
  add(1, 7);
  add(2, 8);
  add(3, 8);
  EXPECT_EQ(found(), (Items{2, 3}));
  EXPECT_EQ(index_->found().incarnation, 8U);
}

TEST_F(SpoolIndexTest, ItIsRewrittenWhenMostOfItIsOfNoUse) {
  add(0);
  for (std::uint64_t item = 1; item <= 20'000; ++item) {
    add(item);
    forget(item);
  }
  EXPECT_LT(bytes(), std::uintmax_t{3} << 20);
  add(30'000);
  EXPECT_EQ(found(), (Items{0, 30'000}));
}

}  // namespace
}  // namespace drover
