#include "base/url.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace drover {
namespace {

using Segments = std::vector<std::string>;

TEST(Url, EscapesAreDecodedOnce) {
  EXPECT_EQ(percent_decoded("a%20b%2f%41+"), "a b/A+");
  EXPECT_EQ(percent_decoded("%2541"), "%41");
  EXPECT_EQ(percent_decoded("%00"), std::string(1, '\0'));
  EXPECT_EQ(percent_decoded("%c3%BC"), "ü");
  EXPECT_EQ(percent_decoded(""), "");
}

TEST(Url, BrokenEscapesAreRefused) {
  for (const char* text : {"%", "a%", "%4", "%g0", "%0g", "%%41", "% 1", "%-1", "%+1", "%\xff\xff"}) {
    EXPECT_FALSE(percent_decoded(text)) << text;
  }
}

TEST(Url, PathIsSplitBeforeItIsDecoded) {
  EXPECT_EQ(path_segments("/api/v1/jobs"), (Segments{"api", "v1", "jobs"}));
  EXPECT_EQ(path_segments("/bucket/a%2Fb//c/"), (Segments{"bucket", "a/b", "", "c", ""}));
  EXPECT_EQ(path_segments("/"), Segments{""});
  EXPECT_EQ(path_segments("/%2e%2e/.."), (Segments{"..", ".."}));
  EXPECT_FALSE(path_segments(""));
  EXPECT_FALSE(path_segments("*"));
  EXPECT_FALSE(path_segments("jobs"));
  EXPECT_FALSE(path_segments("/a/%zz"));
}

TEST(Url, QueryIsPairsInOrder) {
  EXPECT_EQ(query_pairs("a=1&b=x+y&c&a=%26%3D"), (QueryPairs{{"a", "1"}, {"b", "x y"}, {"c", ""}, {"a", "&="}}));
  EXPECT_EQ(query_pairs("a=b=c&&=v&"), (QueryPairs{{"a", "b=c"}, {"", "v"}}));
  EXPECT_EQ(query_pairs(""), QueryPairs{});
  EXPECT_EQ(query_pairs("a=%2B"), (QueryPairs{{"a", "+"}}));
  EXPECT_FALSE(query_pairs("a=%"));
  EXPECT_FALSE(query_pairs("%4=a"));
}

TEST(Url, EncodedTextDecodesToItself) {
  EXPECT_EQ(percent_encoded("az.AZ-09_~"), "az.AZ-09_~");
  EXPECT_EQ(percent_encoded("a b/+%\xc3\xa9"), "a%20b%2F%2B%25%C3%A9");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(percent_decoded(percent_encoded(all)), all);
}

TEST(Url, AnyBytesAreTakenWithoutHarm) {
  Random random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = "/";
    for (std::uint64_t length = random.below(40); length > 0; --length) {
      text += random.one_in(2) ? "%&=+/"[random.below(5)] : static_cast<char>(random.below(256));
    }
    if (const auto decoded = percent_decoded(text)) {
      EXPECT_LE(decoded->size(), text.size());
    }
    if (const auto segments = path_segments(text)) {
      EXPECT_FALSE(segments->empty());
    }
    query_pairs(text);
  }
}

}  // namespace
}  // namespace drover
