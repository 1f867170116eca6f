// For tests: what every store of objects does.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "ports/objects.h"

namespace drover {

/// Bytes of any size that a seed makes.
inline std::string some_bytes(std::uint64_t seed, std::size_t size) {
  Random random(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(random.next());
  return out;
}

inline ObjectBytes bytes_from(const std::string& bytes) {
  return {.size = bytes.size(), .read = [&bytes](std::uint64_t offset, std::uint64_t size) {
            return Result<std::string>(bytes.substr(offset, size));
          }};
}

/// The bytes, or "(what went wrong)".
inline std::string text_of(ObjectStore& store, const std::string& key, const ObjectRange& range = {}) {
  std::string out;
  const auto got = store.get(key, range, [&](std::string_view bytes) -> Result<void> {
    out += bytes;
    return {};
  });
  return got ? out : concat("(", got.error().message, ")");
}

/// "a/1 a/2 | b/": all pages of a list, objects and prefixes.
inline std::string all_of(ObjectStore& store, ListQuestion question) {
  std::vector<std::string> objects;
  std::vector<std::string> prefixes;
  while (true) {
    const auto page = store.list(question);
    if (!page) return concat("(", page.error().message, ")");
    EXPECT_LE(page->objects.size() + page->prefixes.size(), question.most);
    for (const ObjectInfo& it : page->objects) objects.push_back(it.key);
    prefixes.insert(prefixes.end(), page->prefixes.begin(), page->prefixes.end());
    if (page->next.empty()) break;
    question.after = page->next;
  }
  std::string out;
  for (const std::string& it : objects) out += concat(out.empty() ? "" : " ", it);
  for (std::size_t i = 0; i < prefixes.size(); ++i) out += concat(i == 0 ? " | " : " ", prefixes[i]);
  return out;
}

/// A store that is empty.
inline void expect_contract(ObjectStore& store) {
  const auto put = [&](const std::string& key, const std::string& bytes) {
    const auto done = store.put({.key = key}, bytes_from(bytes));
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->size, bytes.size());
  };
  // What is put is got, whatever its size, as a whole and in parts.
  for (const std::size_t size : {0UL, 1UL, 65'536UL, 65'537UL, 3'000'000UL}) {
    const std::string key = concat("sizes/", size);
    const std::string bytes = some_bytes(size, size);
    put(key, bytes);
    EXPECT_TRUE(text_of(store, key) == bytes) << size;
    const auto head = store.head(key);
    ASSERT_TRUE(head) << head.error().message;
    EXPECT_EQ(head->size, size);
    EXPECT_GT(head->modified_ms, 1'600'000'000'000);
    if (size > 10) {
      EXPECT_EQ(text_of(store, key, {5, 3}), bytes.substr(5, 3));
      EXPECT_TRUE(text_of(store, key, {size - 2, {}}) == bytes.substr(size - 2));
    }
    EXPECT_TRUE(text_of(store, key, {size + 1, {}}).contains("more were asked for"));
  }
  // It is replaced as a whole.
  put("k", "first");
  put("k", "second");
  EXPECT_EQ(text_of(store, "k"), "second");
  const auto copied = store.copy("k", "copies/k");
  ASSERT_TRUE(copied) << copied.error().message;
  EXPECT_EQ(copied->size, 6U);
  EXPECT_EQ(text_of(store, "copies/k"), "second");
  // What is not there is not found, and may be removed.
  EXPECT_EQ(store.head("none").error().code, ErrorCode::not_found);
  EXPECT_EQ(store.get("none", {}, [](std::string_view) { return Result<void>(); }).error().code, ErrorCode::not_found);
  EXPECT_EQ(store.copy("none", "x").error().code, ErrorCode::not_found);
  EXPECT_TRUE(store.remove("none"));
  EXPECT_TRUE(store.remove("k"));
  EXPECT_EQ(store.head("k").error().code, ErrorCode::not_found);
  // Whoever takes the bytes may refuse them.
  const auto refused = store.get("sizes/65537", {},
                                 [](std::string_view) -> Result<void> { return fail(ErrorCode::no_space, "no room"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::no_space);
  // Parts come in any order; what is given up leaves nothing.
  const auto upload = store.begin_upload({.key = "parts/whole"});
  ASSERT_TRUE(upload) << upload.error().message;
  const std::string first = some_bytes(1, 5 << 20);
  auto two = store.upload_part("parts/whole", *upload, 2, "the end");
  auto one = store.upload_part("parts/whole", *upload, 1, first);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(store.head("parts/whole").error().code, ErrorCode::not_found);
  ASSERT_TRUE(store.complete_upload("parts/whole", *upload, {*one, *two}));
  EXPECT_TRUE(text_of(store, "parts/whole") == first + "the end");
  const auto given_up = store.begin_upload({.key = "parts/none"});
  ASSERT_TRUE(given_up);
  ASSERT_TRUE(store.upload_part("parts/none", *given_up, 1, "x"));
  EXPECT_TRUE(store.abort_upload("parts/none", *given_up));
  EXPECT_FALSE(store.upload_part("parts/none", *given_up, 1, "x"));
  // Lists are in the order of bytes, in pages of any size.
  for (const char* key : {"l/a b", "l/a!/1", "l/a/1", "l/a/2", "l/a0", "l/b/c/d", "l/\xc3\xbc"}) put(key, "x");
  for (const std::uint64_t most : {1UL, 2UL, 3UL, 1000UL}) {
    EXPECT_EQ(all_of(store, {.prefix = "l/", .most = most}), "l/a b l/a!/1 l/a/1 l/a/2 l/a0 l/b/c/d l/\xc3\xbc");
    EXPECT_EQ(all_of(store, {.prefix = "l/", .delimiter = "/", .most = most}),
              "l/a b l/a0 l/\xc3\xbc | l/a!/ l/a/ l/b/");
    EXPECT_EQ(all_of(store, {.prefix = "l/a/", .delimiter = "/", .most = most}), "l/a/1 l/a/2");
    EXPECT_EQ(all_of(store, {.prefix = "l/a", .delimiter = "/", .most = most}), "l/a b l/a0 | l/a!/ l/a/");
    EXPECT_EQ(all_of(store, {.prefix = "nothing/", .most = most}), "");
  }
}

}  // namespace drover
