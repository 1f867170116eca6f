#include "screen/plain_text.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "screen/cells.h"
#include "screen/char_width.h"

namespace drover {
namespace {

using namespace std::string_literals;

TEST(PlainText, KeepsWhatPeopleWrite) {
  EXPECT_EQ(plain_text("Überfluß 照片 файл 🎉 e\u0301"), "Überfluß 照片 файл 🎉 e\u0301");
  EXPECT_EQ(plain_text("  two  words\n"), "two  words");
  EXPECT_EQ(plain_text(""), "");
}

TEST(PlainText, DropsEscapeSequences) {
  EXPECT_EQ(plain_text("\x1b[1;31merror\x1b[0m: no"), "error: no");
  EXPECT_EQ(plain_text("\x1b]0;my title\x07text"), "text");
  EXPECT_EQ(plain_text("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\"), "link");
  EXPECT_EQ(plain_text("\x1b(Bascii\x1b="), "ascii");
  EXPECT_EQ(plain_text("\x1b[2J\x1b[Hgone"), "gone");
  EXPECT_EQ(plain_text("an unended \x1b]title"), "an unended title");
  EXPECT_EQ(plain_text("\x1b"), "");
  EXPECT_EQ(plain_text("\x1b["), "");
  EXPECT_EQ(plain_text("\x1b\x1b[31mx"), "x");
}

TEST(PlainText, LetsNoControlCharacterThrough) {
  EXPECT_EQ(plain_text("a\tb\r\nc\vd"), "a b  c d");
  EXPECT_EQ(plain_text("a\0b\x07\x7f"s), "a\uFFFDb\uFFFD\uFFFD");
  EXPECT_EQ(plain_text("a\u009b31mb"), "a\uFFFD31mb");              // a C1 control: some terminals take it for ESC [
  EXPECT_EQ(plain_text("a\u202egnp.exe\u200d\ufe0f"), "agnp.exe");  // turns the direction of what follows
}

TEST(PlainText, ReplacesBytesThatAreNoText) {
  EXPECT_EQ(plain_text("a\xff\xfe b"), "a\uFFFD\uFFFD b");
  EXPECT_EQ(plain_text("cut \xe7\x85"), "cut \uFFFD\uFFFD");
  EXPECT_EQ(plain_text("\xc0\xaf"), "\uFFFD\uFFFD");            // overlong
  EXPECT_EQ(plain_text("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(plain_text("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(PlainText, CutsToTheCellsThereAre) {
  EXPECT_EQ(plain_text("abcdef", 6), "abcdef");
  EXPECT_EQ(plain_text("abcdef", 5), "abcd…");
  EXPECT_EQ(plain_text("abcdef   ", 6), "abcdef");
  EXPECT_EQ(plain_text("ab  cd", 5), "ab…");
  EXPECT_EQ(plain_text("照片照片", 8), "照片照片");
  EXPECT_EQ(plain_text("照片照片", 7), "照片照…");
  EXPECT_EQ(plain_text("照片照片", 6), "照片…");
  EXPECT_EQ(plain_text("照", 1), "…");
  EXPECT_EQ(plain_text("abc", 0), "");
  EXPECT_EQ(plain_text("abc\u0301\u0301", 3), "abc\u0301\u0301");
}

TEST(PlainText, StacksOnlyAFewMarks) {
  std::string tower = "a";
  for (int i = 0; i < 1000; ++i) tower += "\u0301";
  EXPECT_EQ(plain_text(tower), "a\u0301\u0301\u0301\u0301");
}

TEST(PlainText, ShowsTheLastOfOverwrittenLines) {
  EXPECT_EQ(after_last_return("10%\r 50%\r100%\r\n"), "100%");
  EXPECT_EQ(after_last_return("plain"), "plain");
  EXPECT_EQ(after_last_return("\r\n"), "");
}

TEST(Cells, AreCountedAsATerminalDoes) {
  EXPECT_EQ(cells_of("abc"), 3U);
  EXPECT_EQ(cells_of("照片"), 4U);
  EXPECT_EQ(cells_of("e\u0301"), 1U);
  EXPECT_EQ(cells_of("\x1b[1;31mred\x1b[m"), 3U);
  EXPECT_EQ(cells_of("한국어"), 6U);
  EXPECT_EQ(cells_of("ｆｕｌｌ"), 8U);
  EXPECT_EQ(cells_of("🎉"), 2U);
  EXPECT_EQ(cells_of("▏▌█…–"), 5U);
}

TEST(Cells, WrapWithoutCuttingAWideCharacter) {
  EXPECT_EQ(rows_when_wrapped("", 10), 1U);
  EXPECT_EQ(rows_when_wrapped("abcdefghij", 10), 1U);
  EXPECT_EQ(rows_when_wrapped("abcdefghijk", 10), 2U);
  EXPECT_EQ(rows_when_wrapped("照片照片", 5), 2U);
  EXPECT_EQ(rows_when_wrapped("照片照片", 3), 4U);
  EXPECT_EQ(rows_when_wrapped("\x1b[31mabcde\x1b[m", 5), 1U);
}

TEST(CharWidth, FollowsUnicode) {
  EXPECT_EQ(char_width(U'a'), 1U);
  EXPECT_EQ(char_width(0x0300), 0U);
  EXPECT_EQ(char_width(0x05d0), 1U);  // Hebrew alef
  EXPECT_EQ(char_width(0x0e31), 0U);  // a Thai vowel above
  EXPECT_EQ(char_width(0x3042), 2U);  // hiragana
  EXPECT_EQ(char_width(0x20000), 2U);
  EXPECT_EQ(char_width(0x1f9ff), 2U);
  EXPECT_EQ(char_width(kReplacement), 1U);
}

}  // namespace
}  // namespace drover
