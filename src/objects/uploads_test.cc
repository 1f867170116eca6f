#include <gtest/gtest.h>

#include "objects/bucket_fixture.h"

namespace drover {
namespace {

class UploadsTest : public BucketStoreTest {
 protected:
  void SetUp() override {
    open();
    ASSERT_TRUE(client().create("b"));
  }
  UploadName begin(const std::string& key) { return {"b", key, client().begin("b", key)}; }
};

TEST_F(UploadsTest, PartsComeInAnyOrderAndBecomeOneObject) {
  const UploadName upload = begin("k");
  ASSERT_TRUE(client().part(upload, 7, "the end"));
  ASSERT_TRUE(client().part(upload, 2, bytes_of(1, kLarge)));
  ASSERT_TRUE(client().part(upload, 2, bytes_of(2, kLarge)));
  ASSERT_TRUE(client().part(upload, 5, bytes_of(5, kLarge)));
  ASSERT_TRUE(client().part(upload, 6, bytes_of(6, kLarge)));
  expect_files(4);
  open();
  const auto parts = store_->parts(upload, 2, 2);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ(parts->at(0).number, 5U);
  EXPECT_EQ(parts->at(1).size, kLarge);
  EXPECT_EQ(store_->head({"b", "k"}).error().fault, BucketFault::no_such_key);
  EXPECT_EQ(client().complete(upload, {2, 3}).error().fault, BucketFault::no_such_part);
  const auto whole = client().complete(upload, {2, 5, 7});
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->part_sizes, (std::vector<std::uint64_t>{kLarge, kLarge, 7}));
  expect_files(3);
  const std::string bytes = bytes_of(2, kLarge) + bytes_of(5, kLarge) + "the end";
  EXPECT_EQ(client().get("b", "k"), bytes);
  // Whoever did not hear the answer asks again; others are told that it is over.
  EXPECT_EQ(client().complete(upload, {2, 5, 7}).value().sequence, whole->sequence);
  EXPECT_EQ(client().part(upload, 1, "x").error().fault, BucketFault::no_such_upload);
  EXPECT_EQ(client().abort(upload).error().fault, BucketFault::no_such_upload);
  // What is being read stays until it was read.
  auto content = store_->open({"b", "k"});
  ASSERT_TRUE(content);
  ASSERT_TRUE(client().remove("b", "k"));
  ::usleep(100'000);
  EXPECT_EQ(content_of(*content), bytes);
  content = {};
  expect_files(0);
  EXPECT_EQ(client().complete(upload, {2, 5, 7}).error().fault, BucketFault::no_such_upload);
}

TEST_F(UploadsTest, PartsMayBePiecesOfOtherObjects) {
  const UploadName first = begin("source");
  ASSERT_TRUE(client().part(first, 1, bytes_of(1, kLarge)));
  ASSERT_TRUE(client().part(first, 2, bytes_of(2, kLarge)));
  ASSERT_TRUE(client().part(first, 3, "small"));
  ASSERT_TRUE(client().complete(first, {1, 2, 3}));
  const std::string source = client().get("b", "source");
  const auto head = store_->head({"b", "source"});
  const UploadName upload = begin("k");
  const CopySource some{
      .name = {"b", "source"}, .sequence = head->sequence, .offset = kLarge - 10, .size = kLarge + 13};
  ASSERT_TRUE(client().part_of(upload, 1, some));
  ASSERT_TRUE(client().part_of(upload, 2, {.name = {"b", "source"}, .sequence = head->sequence}));
  ASSERT_TRUE(client().remove("b", "source"));
  EXPECT_EQ(client().part_of(upload, 3, some).error().fault, BucketFault::no_such_key);
  ASSERT_TRUE(client().complete(upload, {1, 2}));
  EXPECT_EQ(client().get("b", "k"), source.substr(kLarge - 10, kLarge + 13) + source);
  ASSERT_TRUE(client().remove("b", "k"));
  expect_files(0);
}

TEST_F(UploadsTest, WhatIsGivenUpLeavesNothing) {
  const UploadName one = begin("one");
  ASSERT_TRUE(client().part(one, 1, bytes_of(1, kLarge)));
  ASSERT_TRUE(client().abort(one));
  expect_files(0);
  const UploadName two = begin("two");
  ASSERT_TRUE(client().part(two, 1, bytes_of(1, kLarge)));
  now_ms_ += kUploadsKeptMs + 1;
  open();
  expect_files(0);
  EXPECT_EQ(store_->upload(two).error().fault, BucketFault::no_such_upload);
  const UploadName three = begin("three");
  ASSERT_TRUE(client().part(three, 1, bytes_of(1, kLarge)));
  ASSERT_TRUE(client().drop("b"));
  expect_files(0);
}

TEST_F(UploadsTest, PagesOfUploads) {
  std::vector<UploadName> all;
  for (const char* key : {"a/1", "a/2", "k", "k", "k", "z"}) all.push_back(begin(key));
  const auto pages = [&](UploadQuestion question) {
    std::string out;
    while (true) {
      const auto page = store_->list_uploads("b", question);
      EXPECT_TRUE(page);
      if (!page) return out;
      for (const Upload& it : page->uploads) {
        const auto found = std::ranges::find(all, it.id, &UploadName::id);
        out += concat(it.object.key, "#", found - all.begin(), " ");
        if (it.object.key == "k" && question.most == 1) {
          EXPECT_TRUE(client().abort({"b", "k", it.id}));
        }
      }
      for (const std::string& it : page->prefixes) out += concat(it, " ");
      if (!page->is_cut) return out;
      question.after = page->last_key;
      question.after_id = page->last_id;
    }
  };
  EXPECT_EQ(pages({}), "a/1#0 a/2#1 k#2 k#3 k#4 z#5 ");
  EXPECT_EQ(pages({.delimiter = "/", .most = 2}), "k#2 a/ k#3 k#4 z#5 ");
  EXPECT_EQ(pages({.prefix = "k", .most = 1}), "k#2 k#3 k#4 ");
  EXPECT_EQ(pages({}), "a/1#0 a/2#1 z#5 ");
}

}  // namespace
}  // namespace drover
