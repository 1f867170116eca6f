// Whatever items and programs say, it stays text.
#include "page/page_fixture.h"

namespace drover::page {
namespace {

using namespace std::string_literals;

class HostileText : public PageTest {
 protected:
  /// Everywhere that text of others can reach the page.
  void make_with(const std::string& text) {
    options_.item_text = [text](ItemIndex) -> Result<std::string> { return text; };
    options_.shape = [](std::string_view line) { return std::string(line); };
    options_.command = options_.machine = options_.drover_version = text;
    job_.name = job_.reason = text;
    Attempt not_started = failed_attempt_of(1, 0, "");
    not_started.ending = Ending::not_started;
    not_started.reason = text;
    make({failed_attempt_of(0, 3, text), not_started});
  }
};

TEST_F(HostileText, CannotLeaveItsElement) {
  make({});
  const std::size_t tags = times("<script");
  make_with("</script></style></title>--><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x");
  EXPECT_EQ(times("<script"), tags);
  EXPECT_EQ(times("<img"), 0U);
  EXPECT_TRUE(shows("&lt;/script&gt;&lt;/style&gt;"));
  EXPECT_TRUE(shows("\\u003c/script\\u003e"));
  page_.resize(page_.find(R"(<script type="application/json")"));  // quotes mean nothing to HTML after this
  EXPECT_EQ(times("' onload='"), 0U);
}

TEST_F(HostileText, MarksOfTheSkeletonAreText) {
  make_with("{{data}} {{nothing}}");
  EXPECT_TRUE(shows("<h1>{{data}} {{nothing}}</h1>"));
}

TEST_F(HostileText, ControlCharactersAndBrokenUtf8AreReplaced) {
  make_with("a\0b\x1b[31mc\xff\xc3\xed\xa0\x80\x7f\xe2\x80\xae\td\ne"s);
  for (const char c : page_) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE(byte >= 0x20 || byte == '\n') << static_cast<int>(byte);
    ASSERT_NE(byte, 0x7f);
    ASSERT_NE(byte, 0xff);
  }
  EXPECT_FALSE(shows("\xe2\x80\xae"));  // right-to-left override
}

TEST_F(HostileText, OfAnyLengthIsCut) {
  make_with("ordinary");
  const std::size_t ordinary = page_.size();
  job_ = Job{{}, job_.id};
  make_with(std::string(3'000'000, '<'));
  EXPECT_LT(page_.size(), ordinary + 40'000);
}

TEST_F(HostileText, OfFiveThousandAttemptsLeavesThePageSmall) {
  options_.item_text = [](ItemIndex item) -> Result<std::string> {
    return concat(std::string(100, '<'), item.value, std::string(100, '<'));
  };
  make(attempts_at(5000,
                   [](std::uint64_t item) { return failed_attempt_of(item, 3, concat(item, std::string(200, '&'))); }));
  EXPECT_EQ(data_["bars"].as_array().size(), 5000U);
  EXPECT_LT(page_.size(), 2'000'000U);
}

}  // namespace
}  // namespace drover::page
