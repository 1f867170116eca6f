#include <gtest/gtest.h>

#include <map>

#include "objects/bucket_fixture.h"

namespace drover {
namespace {

class VersionsTest : public BucketStoreTest {
 protected:
  void SetUp() override {
    open();
    ASSERT_TRUE(client().create("b"));
  }
  std::string put(const std::string& key, const std::string& bytes) {
    const auto put = client().put({.bucket = "b", .key = key, .etag = bytes}, bytes);
    EXPECT_TRUE(put);
    return put ? put->version : "";
  }
  /// "k=three* k=two k-": the newest of a key has a star, a delete marker a minus.
  std::string all(ObjectQuestion question = {}) {
    std::string out;
    while (true) {
      const auto page = store_->list_versions("b", question);
      EXPECT_TRUE(page);
      if (!page) return out;
      for (const auto& [object, is_newest] : page->versions) {
        out += concat(out.empty() ? "" : " ", object.key, object.is_marker ? "-" : concat("=", object.etag),
                      is_newest ? "*" : "");
      }
      for (const std::string& it : page->prefixes) out += concat(" ", it);
      if (!page->is_cut) return out;
      question.after = page->last_key;
      question.after_sequence = page->last_sequence;
    }
  }
};

TEST_F(VersionsTest, ABucketThatKeepsVersionsKeepsWhatIsReplacedAndDeleted) {
  EXPECT_EQ(put("k", "zero"), "null");
  ASSERT_TRUE(client().set_versioning("b", Versioning::enabled));
  const std::string one = put("k", "one");
  const std::string two = put("k", std::string(kLarge, '2'));
  EXPECT_NE(one, two);
  EXPECT_EQ(client().get("b", "k", one), "one");
  EXPECT_EQ(client().get("b", "k", "null"), "zero");
  const auto removed = client().remove("b", "k");
  ASSERT_TRUE(removed);
  EXPECT_TRUE(removed->is_marker);
  const auto gone = store_->head({"b", "k"});
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().fault, BucketFault::no_such_key);
  EXPECT_EQ(gone.error().marker, removed->version);
  EXPECT_EQ(store_->head({"b", "k", removed->version}).error().fault, BucketFault::is_marker);
  EXPECT_EQ(store_->head({"b", "k", "ffff"}).error().fault, BucketFault::no_such_version);
  EXPECT_TRUE(store_->list("b", {})->objects.empty());
  open();
  EXPECT_EQ(client().get("b", "k", two), std::string(kLarge, '2'));
  EXPECT_EQ(client().drop("b").error().fault, BucketFault::bucket_not_empty);
  // Without the marker, the newest is there again.
  EXPECT_TRUE(client().remove("b", "k", removed->version)->is_marker);
  EXPECT_EQ(client().get("b", "k"), std::string(kLarge, '2'));
  EXPECT_TRUE(client().remove("b", "k", two)->was_there);
  expect_files(0);
  EXPECT_EQ(client().get("b", "k"), "one");
  EXPECT_EQ(all(), "k=one* k=zero");
  EXPECT_TRUE(client().remove("b", "k", "null")->was_there);
  EXPECT_FALSE(client().remove("b", "k", "null")->was_there);
  EXPECT_TRUE(client().remove("b", "k", one)->was_there);
  EXPECT_TRUE(client().drop("b"));
}

TEST_F(VersionsTest, OneThatHasStoppedKeepingThemReplacesOnlyTheVersionNull) {
  ASSERT_TRUE(client().set_versioning("b", Versioning::enabled));
  put("k", "one");
  ASSERT_TRUE(client().set_versioning("b", Versioning::suspended));
  EXPECT_EQ(put("k", "two"), "null");
  EXPECT_EQ(put("k", std::string(kLarge, '3')), "null");
  EXPECT_EQ(put("k", "four"), "null");
  expect_files(0);
  EXPECT_EQ(all(), "k=four* k=one");
  EXPECT_EQ(client().remove("b", "k")->version, "null");
  EXPECT_EQ(all(), "k-* k=one");
  EXPECT_EQ(client().remove("b", "k")->version, "null");
  EXPECT_EQ(all(), "k-* k=one");
  put("k", "five");
  EXPECT_EQ(all(), "k=five* k=one");
  ASSERT_TRUE(client().set_versioning("b", Versioning::enabled));
  put("k", "six");
  EXPECT_EQ(all(), "k=six* k=five k=one");
}

TEST_F(VersionsTest, PagesGoOnBehindAVersionThatIsDeletedMeanwhile) {
  ASSERT_TRUE(client().set_versioning("b", Versioning::enabled));
  for (int i = 0; i < 5; ++i) put("k", concat("v", i));
  put("a/1", "x");
  put("a/2", "x");
  put("z", "z");
  EXPECT_EQ(all({.most = 1}), "a/1=x* a/2=x* k=v4* k=v3 k=v2 k=v1 k=v0 z=z*");
  EXPECT_EQ(all({.prefix = "k", .most = 2}), "k=v4* k=v3 k=v2 k=v1 k=v0");
  const auto first = store_->list_versions("b", {.delimiter = "/", .most = 3});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->prefixes, std::vector<std::string>{"a/"});
  ASSERT_EQ(first->versions.size(), 2U);
  for (const auto& [object, is_newest] : first->versions) client().remove("b", "k", object.version);
  EXPECT_EQ(all({.delimiter = "/", .after = first->last_key, .after_sequence = first->last_sequence}),
            "k=v2* k=v1 k=v0 z=z*");
}

TEST_F(VersionsTest, CopiesShareBytesUntilTheLastOfThemIsGone) {
  const std::string bytes = bytes_of(1, kLarge);
  ASSERT_TRUE(client().put({.bucket = "b", .key = "k", .etag = "1"}, bytes));
  ASSERT_TRUE(client().put({.bucket = "b", .key = "small", .etag = "1"}, "0123456789"));
  const auto large = store_->head({"b", "k"});
  const auto small = store_->head({"b", "small"});
  ASSERT_TRUE(client().copy({.name = {"b", "k"}, .sequence = large->sequence}, {.bucket = "b", .key = "copy"}));
  ASSERT_TRUE(client().copy({.name = {"b", "small"}, .sequence = small->sequence, .offset = 2, .size = 3},
                            {.bucket = "b", .key = "piece"}));
  ASSERT_TRUE(client().copy({.name = {"b", "k"}, .sequence = large->sequence, .offset = 100, .size = 5000},
                            {.bucket = "b", .key = "middle"}));
  expect_files(1);
  EXPECT_EQ(client().get("b", "piece"), "234");
  EXPECT_EQ(client().get("b", "copy"), bytes);
  ASSERT_TRUE(client().remove("b", "k"));
  ASSERT_TRUE(client().remove("b", "small"));
  ASSERT_TRUE(client().remove("b", "copy"));
  EXPECT_EQ(client().get("b", "piece"), "234");
  EXPECT_EQ(client().get("b", "middle"), bytes.substr(100, 5000));
  // Onto itself, with other headers.
  const auto middle = store_->head({"b", "middle"});
  ASSERT_TRUE(client().copy({.name = {"b", "middle"}, .sequence = middle->sequence}, {.bucket = "b", .key = "middle"}));
  EXPECT_EQ(client().get("b", "middle"), bytes.substr(100, 5000));
  expect_files(1);
  EXPECT_EQ(
      client().copy({.name = {"b", "middle"}, .sequence = middle->sequence}, {.bucket = "b", .key = "x"}).error().fault,
      BucketFault::source_changed);
  ASSERT_TRUE(client().remove("b", "middle"));
  expect_files(0);
}

TEST_F(VersionsTest, TagsAreOfOneVersion) {
  ASSERT_TRUE(client().set_versioning("b", Versioning::enabled));
  const std::string one = put("k", "one");
  put("k", "two");
  ASSERT_TRUE(client().tag({"b", "k", one}, "team=a"));
  EXPECT_EQ(store_->head({"b", "k", one})->tags, "team=a");
  EXPECT_EQ(store_->head({"b", "k"})->tags, "");
  ASSERT_TRUE(client().tag({"b", "k"}, "team=b"));
  EXPECT_EQ(store_->head({"b", "k"})->tags, "team=b");
  EXPECT_EQ(all(), "k=two* k=one");
  EXPECT_EQ(client().tag({"b", "other"}, "").error().fault, BucketFault::no_such_key);
}

TEST_F(VersionsTest, EventsOfWhatTheRulesNameAreThereWithTheObjects) {
  ASSERT_TRUE(client().set_rules("b", {{.id = "r",
                                        .stream = "s",
                                        .target = "arn",
                                        .events = {"s3:ObjectCreated:*", "s3:ObjectRemoved:Delete"},
                                        .prefix = "in/",
                                        .suffix = ".jpg"}}));
  put("in/a.jpg", "a");
  put("in/a.png", "a");
  put("out/a.jpg", "a");
  ASSERT_TRUE(client().remove("b", "in/a.jpg"));
  ASSERT_TRUE(client().remove("b", "in/a.jpg"));
  const auto told = [&](std::uint64_t after) {
    std::string out;
    const auto found = store_->events(after, 100);
    EXPECT_TRUE(found);
    for (const ObjectEvent& it : *found) {
      out += concat(it.number, " ", it.stream, " ", it.event, " ", it.key, " ", it.cause.who, "\n");
    }
    return out;
  };
  EXPECT_GE(events_told_, 3);
  const std::string expected =
      "1 s TestEvent  who\n2 s ObjectCreated:Put in/a.jpg \n3 s ObjectRemoved:Delete in/a.jpg who\n";
  EXPECT_EQ(told(0), expected);
  const std::uint64_t feed = store_->feed();
  open();
  EXPECT_EQ(store_->feed(), feed);
  EXPECT_NE(feed, 0U);
  EXPECT_EQ(told(0), expected);
  EXPECT_EQ(store_->event_rules("b")->at(0).suffix, ".jpg");
  ASSERT_TRUE(client().forget_events(3));
  EXPECT_EQ(told(0), "");
  put("in/b.jpg", "b");
  EXPECT_EQ(told(0), "4 s ObjectCreated:Put in/b.jpg \n");
  ASSERT_TRUE(client().forget_events(4));
  open();
  EXPECT_NE(store_->feed(), feed) << "nothing can be sent twice";
  ASSERT_TRUE(client().set_rules("b", {}));
  put("in/c.jpg", "c");
  EXPECT_EQ(told(4), "");
}

}  // namespace
}  // namespace drover
