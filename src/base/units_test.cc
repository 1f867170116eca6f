#include "base/units.h"

#include <gtest/gtest.h>

#include "base/uuid.h"

namespace drover {
namespace {

TEST(Units, ReadTimesAsPeopleWriteThem) {
  EXPECT_EQ(parse_duration_ms("30s").value(), 30'000);
  EXPECT_EQ(parse_duration_ms("1.5h").value(), 5'400'000);
  EXPECT_EQ(parse_duration_ms("250ms").value(), 250);
  EXPECT_EQ(parse_duration_ms("10").value(), 10'000);
  EXPECT_EQ(parse_duration_ms("1h30m").value(), 5'400'000);
  EXPECT_EQ(parse_duration_ms("1d2h3m4.5s6ms").value(), 93'784'506);
  EXPECT_EQ(parse_duration_ms("90M").value(), 5'400'000);
  for (const char* text : {"", "s", "-3s", "3 s", "3x", "1e9d", "inf", "nan", "1h30", "30 1h", "1h-2m", "1h 30m", "h1"})
    EXPECT_FALSE(parse_duration_ms(text)) << text;
}

TEST(Units, ReadSizes) {
  EXPECT_EQ(parse_size("512MiB").value(), 512U << 20);
  EXPECT_EQ(parse_size("2GB").value(), 2'000'000'000U);
  EXPECT_EQ(parse_size("4K").value(), 4096U);
  EXPECT_EQ(parse_size("4G").value(), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_size("4gi").value(), std::uint64_t{4} << 30);
  EXPECT_EQ(parse_size("512m").value(), 512U << 20);
  EXPECT_EQ(parse_size("512mb").value(), 512'000'000U);
  EXPECT_EQ(parse_size("90").value(), 90U);
  EXPECT_FALSE(parse_size("4X"));
  EXPECT_FALSE(parse_size("4 KiB"));
  EXPECT_FALSE(parse_size("99999TiB"));
}

TEST(Units, ReadNumbersWhole) {
  EXPECT_EQ(parse_number("42").value(), 42U);
  for (const char* text : {"", "4x", "-1", " 4", "99999999999999999999"}) EXPECT_FALSE(parse_number(text)) << text;
}

TEST(Units, WriteForPeople) {
  EXPECT_EQ(format_duration_us(840), "840 µs");
  EXPECT_EQ(format_duration_us(3'240'000), "3.2 s");
  EXPECT_EQ(format_duration_us(250'000'000), "4 min 10 s");
  EXPECT_EQ(format_duration_us(7'500'000'000), "2 h 05 min");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1536), "1.5 KiB");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(plural(1, "item"), "1 item");
  EXPECT_EQ(plural(2000, "item"), "2,000 items");
}

TEST(Uuid, ComesBackFromItsText) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 17);
  const Uuid uuid = Uuid::from_random(bytes);
  EXPECT_EQ(uuid.text()[14], '4');
  EXPECT_EQ(Uuid::parse(uuid.text()), uuid);
  EXPECT_FALSE(Uuid::parse("not a uuid"));
  EXPECT_FALSE(Uuid::parse(std::string(36, 'g')));
}

}  // namespace
}  // namespace drover
