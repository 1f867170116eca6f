#include "wire/checksums.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "wire/digest.h"

namespace drover {
namespace {

std::map<ChecksumKind, std::string> all_of(std::string_view bytes, std::size_t piece) {
  Checksums sums({ChecksumKind::crc32, ChecksumKind::crc32c, ChecksumKind::crc64nvme, ChecksumKind::md5,
                  ChecksumKind::sha1, ChecksumKind::sha256});
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) sums.add(bytes.substr(0, piece));
  return sums.finish();
}

TEST(Checksums, AreThoseThatEverybodyElseHas) {
  auto sums = all_of("123456789", 100);
  EXPECT_EQ(hex(sums[ChecksumKind::crc32]), "cbf43926");
  EXPECT_EQ(hex(sums[ChecksumKind::crc32c]), "e3069283");
  EXPECT_EQ(hex(sums[ChecksumKind::crc64nvme]), "ae8b14860a799888");
  EXPECT_EQ(hex(sums[ChecksumKind::md5]), "25f9e794323b453885f5181f1b624d0b");
  EXPECT_EQ(hex(sums[ChecksumKind::sha1]), "f7c3bc1d808e04732adf679965ccc34ca7ae3441");
  EXPECT_EQ(hex(sums[ChecksumKind::sha256]), "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225");
}

TEST(Checksums, OfNothing) {
  auto sums = all_of("", 1);
  EXPECT_EQ(hex(sums[ChecksumKind::crc32]), "00000000");
  EXPECT_EQ(hex(sums[ChecksumKind::crc64nvme]), "0000000000000000");
  EXPECT_EQ(hex(sums[ChecksumKind::md5]), "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(Checksums, DoNotDependOnThePieces) {
  Random random(7);
  std::string bytes;
  for (int i = 0; i < 10'000; ++i) bytes += static_cast<char>(random.below(256));
  const auto whole = all_of(bytes, bytes.size());
  for (const std::size_t piece : {1, 3, 7, 8, 9, 4095}) EXPECT_EQ(all_of(bytes, piece), whole) << piece;
}

TEST(Checksums, OnlyThoseThatWereAskedFor) {
  Checksums sums({ChecksumKind::sha256});
  sums.add("x");
  EXPECT_EQ(sums.finish().size(), 1);
}

TEST(Checksums, OfTwoRunsFromThoseOfEach) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += static_cast<char>(i * 7 + i / 256);
  for (const ChecksumKind kind : {ChecksumKind::crc32, ChecksumKind::crc32c, ChecksumKind::crc64nvme}) {
    const auto sum = [&](std::string_view of) {
      Checksums sums({kind});
      sums.add(of);
      return sums.finish().at(kind);
    };
    for (const std::size_t cut : {0UL, 1UL, 8UL, 4096UL, 65'537UL, 99'999UL, 100'000UL}) {
      const std::string_view first = std::string_view(bytes).substr(0, cut);
      const std::string_view second = std::string_view(bytes).substr(cut);
      EXPECT_EQ(combined_crc(kind, sum(first), sum(second), second.size()), sum(bytes)) << cut;
    }
  }
}

}  // namespace
}  // namespace drover
