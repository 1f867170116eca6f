#include "base/money.h"

#include <gtest/gtest.h>

#include <limits>

namespace drover {
namespace {

TEST(Money, ReadDollarsExactly) {
  EXPECT_EQ(parse_dollars("0.085").value(), 85'000);
  EXPECT_EQ(parse_dollars("12").value(), 12'000'000);
  EXPECT_EQ(parse_dollars("0.000001").value(), 1);
  EXPECT_EQ(parse_dollars("9223372036854.775807").value(), std::numeric_limits<std::int64_t>::max());
  for (const char* text : {"", ".", ".5", "5.", "-1", "+1", "1e3", "$1", "1,5", "0.0000001", "9223372036854.775808",
                           "99999999999999999999"}) {
    EXPECT_FALSE(parse_dollars(text)) << text;
  }
}

TEST(Money, WriteDollarsWithMoreDigitsWhenThereAreFewOfThem) {
  struct Case {
    std::int64_t microdollars;
    const char* text;
  };
  for (const Case& it :
       {Case{0, "$0.00"}, Case{1, "$0.000001"}, Case{9'999, "$0.009999"}, Case{10'000, "$0.0100"},
        Case{85'049, "$0.0850"}, Case{85'050, "$0.0851"}, Case{999'999, "$1.0000"}, Case{1'000'000, "$1.00"},
        Case{1'234'565'000, "$1,234.57"}, Case{1'994'999, "$1.99"}, Case{-42'000, "-$0.0420"},
        Case{std::numeric_limits<std::int64_t>::min(), "-$9,223,372,036,854.78"}}) {
    EXPECT_EQ(format_dollars(it.microdollars), it.text);
  }
}

}  // namespace
}  // namespace drover
