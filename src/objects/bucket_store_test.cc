#include "objects/bucket_store.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "base/random.h"
#include "base/text.h"
#include "objects/bucket_fixture.h"
#include "sqlite/database.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

TEST_F(BucketStoreTest, BucketsAreCreatedListedAndDeleted) {
  open();
  EXPECT_TRUE(client().create("photos"));
  EXPECT_TRUE(client().create("models"));
  const auto again = client().create("photos");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().fault, BucketFault::bucket_exists);
  open();
  const auto all = store_->list_buckets();
  ASSERT_TRUE(all);
  const std::vector<Bucket> expected{{"models", "here", "me", now_ms_}, {"photos", "here", "me", now_ms_}};
  EXPECT_EQ(*all, expected);
  ASSERT_TRUE(client().put({.bucket = "photos", .key = "a", .etag = "1"}, "a"));
  EXPECT_EQ(client().drop("photos").error().fault, BucketFault::bucket_not_empty);
  EXPECT_TRUE(client().remove("photos", "a"));
  EXPECT_TRUE(client().drop("photos"));
  EXPECT_EQ(client().drop("photos").error().fault, BucketFault::no_such_bucket);
  EXPECT_EQ(store_->bucket("photos").error().fault, BucketFault::no_such_bucket);
  EXPECT_EQ(store_->list("photos", {}).error().fault, BucketFault::no_such_bucket);
  EXPECT_EQ(client().put({.bucket = "photos", .key = "a", .etag = "1"}, bytes_of(1, kLarge)).error().fault,
            BucketFault::no_such_bucket);
  expect_files(0);
}

TEST_F(BucketStoreTest, ObjectsOfAnySizeComeBackWithTheirHeaders) {
  open();
  ASSERT_TRUE(client().create("b"));
  const ObjectHeaders headers{{"content-type", "image/png"}, {"x-amz-meta-camera", "a: b"}};
  const std::vector<std::size_t> sizes{0, 1, BucketStore::kMostSmallBytes, BucketStore::kMostSmallBytes + 1, kLarge};
  for (const std::size_t size : sizes) {
    const auto put = client().put(
        {.bucket = "b", .key = concat("k", size), .etag = concat("e", size), .headers = headers}, bytes_of(size, size));
    ASSERT_TRUE(put);
    EXPECT_EQ(put->size, size);
  }
  open();
  for (const std::size_t size : sizes) {
    EXPECT_EQ(client().get("b", concat("k", size)), bytes_of(size, size)) << size;
    const auto head = store_->head({"b", concat("k", size)});
    ASSERT_TRUE(head);
    StoredObject expected{
        .key = concat("k", size), .size = size, .modified_ms = now_ms_, .etag = concat("e", size), .headers = headers};
    expected.sequence = head->sequence;
    EXPECT_EQ(*head, expected);
  }
  EXPECT_EQ(store_->head({"b", "other"}).error().fault, BucketFault::no_such_key);
  expect_files(2);
}

TEST_F(BucketStoreTest, NoKeyIsAPath) {
  open();
  ASSERT_TRUE(client().create("b"));
  for (const std::string& key :
       {std::string("../../x"), std::string("/etc/passwd"), std::string("a//b"), std::string("."),
        std::string("\0x", 2), std::string("\xf0\x9f\x90\x91"), std::string(1024, 'k')}) {
    ASSERT_TRUE(client().put({.bucket = "b", .key = key, .etag = "e"}, bytes_of(7, kLarge)));
    EXPECT_EQ(client().get("b", key), bytes_of(7, kLarge));
  }
  expect_files(7);
}

TEST_F(BucketStoreTest, WhatIsReplacedOrRemovedLeavesNoFileAndCanBeReadToItsEnd) {
  open();
  ASSERT_TRUE(client().create("b"));
  ASSERT_TRUE(client().put({.bucket = "b", .key = "k", .etag = "1"}, bytes_of(1, kLarge)));
  auto before = store_->open({"b", "k"});
  ASSERT_TRUE(before);
  ASSERT_TRUE(client().put({.bucket = "b", .key = "k", .etag = "2"}, bytes_of(2, kLarge)));
  expect_files(1);
  EXPECT_EQ(client().get("b", "k"), bytes_of(2, kLarge));
  EXPECT_EQ(content_of(*before), bytes_of(1, kLarge));
  EXPECT_TRUE(client().remove("b", "k")->was_there);
  EXPECT_FALSE(client().remove("b", "k")->was_there);
  expect_files(0);
  client().data(bytes_of(3, kLarge)).reset();
  expect_files(0);
}

TEST_F(BucketStoreTest, WhatTheDiskHasNoRoomForIsRefusedAndLeavesNothing) {
  open();
  ASSERT_TRUE(client().create("b"));
  const std::string piece = bytes_of(1, std::size_t{1} << 20);
  rooms_ = 2;
  auto data = store_->begin_data(Placement::anywhere);
  Result<void> added;
  int pieces = 0;
  for (; added && pieces < 20; ++pieces) added = data->add(piece);
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, ErrorCode::no_space);
  EXPECT_EQ(pieces, 11);
  data.reset();
  expect_files(0);
}

TEST_F(BucketStoreTest, ConditionsHoldAtTheMomentOfThePut) {
  open();
  ASSERT_TRUE(client().create("b"));
  const auto fault = [&](PutObject object) {
    const auto put = client().put(std::move(object), "x");
    return put ? std::nullopt : std::optional(put.error().fault);
  };
  EXPECT_EQ(fault({.bucket = "b", .key = "k", .etag = "1", .only_if_etag = "0"}), BucketFault::no_such_key);
  EXPECT_EQ(fault({.bucket = "b", .key = "k", .etag = "1", .only_if_new = true}), std::nullopt);
  EXPECT_EQ(fault({.bucket = "b", .key = "k", .etag = "2", .only_if_new = true}), BucketFault::precondition_failed);
  EXPECT_EQ(fault({.bucket = "b", .key = "k", .etag = "2", .only_if_etag = "2"}), BucketFault::precondition_failed);
  EXPECT_EQ(fault({.bucket = "b", .key = "k", .etag = "2", .only_if_etag = "1"}), std::nullopt);
}

/// What a page should be, by looking at every key.
ObjectPage slow_page(const std::map<std::string, std::string>& keys, const ObjectQuestion& question) {
  ObjectPage out;
  for (const auto& [key, etag] : keys) {
    if (!key.starts_with(question.prefix)) continue;
    std::string shown = key;
    bool is_prefix = false;
    if (const std::size_t at = key.find(question.delimiter, question.prefix.size());
        !question.delimiter.empty() && at != std::string::npos) {
      shown = key.substr(0, at + question.delimiter.size());
      is_prefix = true;
    }
    // A key that is shown is behind the one before; a prefix is behind if it was not the last thing shown.
    if (is_prefix ? key <= question.after || question.after == shown || (!out.prefixes.empty() && out.last == shown)
                  : key <= question.after) {
      continue;
    }
    if (out.objects.size() + out.prefixes.size() == question.most) {
      out.is_cut = true;
      break;
    }
    out.last = shown;
    if (is_prefix) {
      out.prefixes.push_back(shown);
    } else {
      out.objects.push_back({.key = key, .size = 0, .modified_ms = 0, .etag = etag});
    }
  }
  return out;
}

TEST_F(BucketStoreTest, PagesAreWhatALookAtEveryKeyGives) {
  open();
  ASSERT_TRUE(client().create("b"));
  ASSERT_TRUE(client().create("other"));
  Random random(1);
  const auto text = [&](std::size_t longest) {
    std::string out;
    const std::size_t size = random.below(longest + 1);
    while (out.size() < size) out += "ab/\xc3\xbf"[random.below(5)];
    return out;
  };
  std::map<std::string, std::string> keys;
  for (int i = 0; i < 300; ++i) {
    const std::string key = concat(text(6), "k"[0]);
    ASSERT_TRUE(client().put({.bucket = "b", .key = key, .etag = std::to_string(i)}, ""));
    ASSERT_TRUE(client().put({.bucket = "other", .key = text(3) + "o", .etag = "o"}, ""));
    keys[key] = std::to_string(i);
  }
  const std::vector<std::string> delimiters{"", "/", "b", "//", "a/"};
  for (int i = 0; i < 2000; ++i) {
    ObjectQuestion question{.prefix = text(3),
                            .delimiter = delimiters[random.below(delimiters.size())],
                            .after = random.below(2) == 0 ? "" : text(4),
                            .most = 1 + random.below(20)};
    std::uint64_t pages = 0;
    while (true) {
      const auto page = store_->list("b", question);
      ASSERT_TRUE(page);
      const ObjectPage expected = slow_page(keys, question);
      const auto about = concat("prefix '", question.prefix, "', delimiter '", question.delimiter, "', after '",
                                question.after, "', most ", question.most);
      ASSERT_EQ(page->prefixes, expected.prefixes) << about;
      ASSERT_EQ(page->objects.size(), expected.objects.size()) << about;
      for (std::size_t k = 0; k < page->objects.size(); ++k) {
        ASSERT_EQ(page->objects[k].key, expected.objects[k].key) << about;
        ASSERT_EQ(page->objects[k].etag, expected.objects[k].etag) << about;
      }
      ASSERT_EQ(page->is_cut, expected.is_cut) << about;
      if (!page->is_cut) break;
      ASSERT_LT(++pages, 400U) << about;
      question.after = page->last;
    }
  }
}

TEST_F(BucketStoreTest, AFileThatIsMissingIsSaidToBeDamaged) {
  open();
  ASSERT_TRUE(client().create("b"));
  ASSERT_TRUE(client().put({.bucket = "b", .key = "k", .etag = "1"}, bytes_of(1, kLarge)));
  fs::remove(data_files().at(0));
  const auto content = store_->open({"b", "k"});
  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().fault, BucketFault::trouble);
  EXPECT_EQ(content.error().error.code, ErrorCode::damaged);
}

TEST_F(BucketStoreTest, AnIndexOfTheFirstVersionIsTakenOver) {
  {
    auto db = Database::open(folder_ + "/index.db", OpenMode::create, [](std::int64_t) { return false; });
    ASSERT_TRUE(db);
    ASSERT_TRUE(db->run(R"sql(
PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;
CREATE TABLE schema_version(version INTEGER NOT NULL);
CREATE TABLE file_numbers(settled INTEGER NOT NULL, end INTEGER NOT NULL);
CREATE TABLE buckets(
  bucket INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, region TEXT NOT NULL, owner TEXT NOT NULL,
  created_ms INTEGER NOT NULL);
CREATE TABLE objects(
  bucket INTEGER NOT NULL, key TEXT NOT NULL, size INTEGER NOT NULL, modified_ms INTEGER NOT NULL, etag TEXT NOT NULL,
  headers TEXT NOT NULL, places TEXT NOT NULL, PRIMARY KEY(bucket, key)) WITHOUT ROWID;
CREATE TABLE small_data(number INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE files(number INTEGER PRIMARY KEY);
CREATE TABLE garbage(number INTEGER PRIMARY KEY);
INSERT INTO schema_version VALUES(1);
INSERT INTO file_numbers VALUES(1, 1);
INSERT INTO buckets VALUES(7, 'b', 'here', 'me', 5);
INSERT INTO objects VALUES(7, 'k', 3, 6, 'e', 'content-type: x/y' || char(10), 's1:3');
INSERT INTO small_data VALUES(1, x'616263');
)sql"));
  }
  open();
  EXPECT_EQ(client().get("b", "k"), "abc");
  const auto head = store_->head({"b", "k"});
  ASSERT_TRUE(head);
  EXPECT_EQ(head->headers, (ObjectHeaders{{"content-type", "x/y"}}));
  EXPECT_EQ(head->version, "null");
  ASSERT_TRUE(client().put({.bucket = "b", .key = "k", .etag = "2"}, bytes_of(1, kLarge)));
  open();
  EXPECT_EQ(client().get("b", "k"), bytes_of(1, kLarge));
}

/// Puts, replaces and removes without end, and says so after each answer: "p KEY SEED SIZE" or "r KEY".
[[noreturn]] void work_until_killed(const std::string& folder, std::uint64_t seed, int told) {
  auto store = BucketStore::open(folder, {.now_ms = [] { return std::int64_t{1}; }});
  if (!store) ::_exit(3);
  Random random(seed);
  std::atomic<int> under_way = 0;
  while (true) {
    const std::string key = std::to_string(random.below(20));
    // Two requests for one key at a time would have no order.
    while (under_way > 0) std::this_thread::yield();
    for (int i = 0; i < 4; ++i) {
      const std::string own = concat(key, "-", i);
      const auto tell = [told, &under_way](const std::string& line) {
        if (::write(told, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(4);
        --under_way;
      };
      ++under_way;
      if (random.below(4) == 0) {
        const std::string begun = concat("R ", own, "\n");
        if (::write(told, begun.data(), begun.size()) < 0) ::_exit(4);
        (*store)->remove({.name = {"b", own}},
                         [own, tell](const BucketResult<Removed>&) { tell(concat("r ", own, "\n")); });
        continue;
      }
      const std::uint64_t number = random.next() % 1'000'000;
      const std::size_t size = random.below(2) == 0 ? random.below(1000) : kLarge + random.below(1000);
      const std::string begun = concat("P ", own, " ", number, " ", size, "\n");
      if (::write(told, begun.data(), begun.size()) < 0) ::_exit(4);
      auto data = (*store)->begin_data(Placement::anywhere);
      if (!data->add(bytes_of(number, size)) || !data->finish()) ::_exit(5);
      (*store)->put({.bucket = "b", .key = own, .etag = std::to_string(number)}, std::move(data),
                    [own, tell, number, size](const BucketResult<StoredObject>& put) {
                      if (!put) ::_exit(6);
                      tell(concat("p ", own, " ", number, " ", size, "\n"));
                    });
    }
  }
}

/// What a key may be: what was acknowledged last, and what was begun since then.
struct Allowed {
  std::string settled = "none";  // "SEED SIZE"
  std::vector<std::string> begun;
};

TEST_F(BucketStoreTest, KilledAtAnyMomentEveryAcknowledgedObjectIsWholeAndNoFileIsAnOrphan) {
  open();
  ASSERT_TRUE(client().create("b"));
  store_.reset();
  std::map<std::string, Allowed> allowed;
  Random random(5);
  for (std::uint64_t round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      work_until_killed(folder_, round, ends[1]);
    }
    ::close(ends[1]);
    ::usleep(static_cast<useconds_t>(50'000 + random.below(150'000)));
    ::kill(child, SIGKILL);
    std::string lines;
    char buffer[65536];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
      lines.append(buffer, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself with " << WEXITSTATUS(status);
    std::istringstream said(lines);
    for (std::string line; std::getline(said, line);) {
      std::istringstream words(line);
      std::string what;
      std::string key;
      std::string rest;
      words >> what >> key;
      std::getline(words, rest);
      if (!rest.empty()) rest.erase(0, 1);
      if (rest.empty()) rest = "none";
      Allowed& it = allowed[key];
      if (what == "P" || what == "R") {
        it.begun.push_back(rest);
      } else {
        it = {.settled = rest, .begun = {}};
      }
    }
    open();
    std::size_t large = 0;
    for (auto& [key, it] : allowed) {
      const auto head = store_->head({"b", key});
      const std::string now = head ? concat(head->etag, " ", head->size) : "none";
      EXPECT_TRUE(now == it.settled || std::ranges::find(it.begun, now) != it.begun.end())
          << key << " is " << now << ", not " << it.settled;
      it = {.settled = now, .begun = {}};
      if (!head) continue;
      if (head->size > BucketStore::kMostSmallBytes) ++large;
      EXPECT_EQ(client().get("b", key), bytes_of(std::stoull(head->etag), head->size)) << key;
    }
    expect_files(large);
    store_.reset();
  }
  EXPECT_GT(allowed.size(), 10U);
}

}  // namespace
}  // namespace drover
