#include "wire/aws/chunked_body.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "wire/digest.h"

namespace drover::aws {
namespace {

/// What is unpacked, or the fault; in pieces of so many bytes.
std::string unpacked(ChunkedBody body, std::string_view text, std::size_t piece) {
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    if (auto taken = body.take(text.substr(0, piece), out); !taken) {
      return taken.error().fault == SignatureFault::mismatch ? "mismatch" : "malformed";
    }
  }
  for (const auto& [name, value] : body.trailer()) out += concat("[", name, "=", value, "]");
  return body.is_done() ? out : "cut";
}

ChunkSigner signer() {
  const SigningScope scope{"20130524", "us-east-1", "s3"};
  return {std::make_shared<SigningKey>("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", scope), "20130524T000000Z", scope,
          "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"};
}

std::string signed_body(std::vector<std::string> chunks, const std::string& trailer) {
  ChunkSigner by = signer();
  chunks.emplace_back();
  std::string out;
  for (const std::string& chunk : chunks) {
    char size[20];
    std::snprintf(size, sizeof size, "%zx", chunk.size());
    out += concat(size, ";chunk-signature=", by.sign_chunk(sha256(chunk)), "\r\n", chunk, chunk.empty() ? "" : "\r\n");
  }
  if (!trailer.empty()) {
    out += concat(trailer, "\r\nx-amz-trailer-signature:", by.sign_trailer(sha256(trailer + "\n")), "\r\n");
  }
  return out + "\r\n";
}

TEST(ChunkedBody, UnpacksHoweverTheBytesCome) {
  const std::string plain = "6\r\nhello\n\r\n3\r\nabc\r\n0\r\nx-amz-checksum-crc32:NjowIA==\r\n\r\n";
  const std::string with_signatures = signed_body({std::string(70'000, 'a'), "b"}, "x-amz-checksum-crc32c:sOO8/Q==");
  for (const std::size_t piece : {1, 2, 7, 100'000}) {
    EXPECT_EQ(unpacked(ChunkedBody(std::nullopt, true), plain, piece), "hello\nabc[x-amz-checksum-crc32=NjowIA==]");
    EXPECT_EQ(unpacked(ChunkedBody(signer(), true), with_signatures, piece),
              std::string(70'000, 'a') + "b[x-amz-checksum-crc32c=sOO8/Q==]");
    EXPECT_EQ(unpacked(ChunkedBody(signer(), false), signed_body({"abc"}, ""), piece), "abc");
  }
  EXPECT_EQ(unpacked(ChunkedBody(std::nullopt, true), "0\r\n\r\n", 100), "");
}

// The example of AWS's own documentation: 65,536 and 1,024 times the letter a.
TEST(ChunkedBody, TheSignaturesAreThoseOfAws) {
  EXPECT_TRUE(signed_body({std::string(65'536, 'a'), std::string(1024, 'a')}, "")
                  .starts_with("10000;chunk-signature="
                               "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n"));
}

TEST(ChunkedBody, EveryByteOfASignedBodyCounts) {
  const std::string good = signed_body({"abc", "defg"}, "x-amz-checksum-crc32c:sOO8/Q==");
  ASSERT_EQ(unpacked(ChunkedBody(signer(), true), good, 1000), "abcdefg[x-amz-checksum-crc32c=sOO8/Q==]");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 1);
    EXPECT_NE(unpacked(ChunkedBody(signer(), true), bad, 1000), "abcdefg[x-amz-checksum-crc32c=sOO8/Q==]") << at;
    EXPECT_EQ(unpacked(ChunkedBody(signer(), true), good.substr(0, at), 1000), "cut") << at;
  }
}

TEST(ChunkedBody, WhatIsMalformedIsRefused) {
  const auto plain = [](std::string_view text) { return unpacked(ChunkedBody(std::nullopt, true), text, 1000); };
  EXPECT_EQ(plain("\r\n"), "malformed");
  EXPECT_EQ(plain("x\r\n"), "malformed");
  EXPECT_EQ(plain("-1\r\n"), "malformed");
  EXPECT_EQ(plain("10000000000000000\r\n"), "malformed");
  EXPECT_EQ(plain("3\nabc\r\n"), "malformed");
  EXPECT_EQ(plain("3\r\nabcd\r\n"), "malformed");
  EXPECT_EQ(plain("0\r\nno colon\r\n"), "malformed");
  EXPECT_EQ(plain("0\r\n\r\nmore"), "malformed");
  EXPECT_EQ(plain(std::string(5000, '0')), "malformed");
  EXPECT_EQ(plain("0\r\n" +
                  [] {
                    std::string lines;
                    for (int i = 0; i < 17; ++i) lines += "a:b\r\n";
                    return lines;
                  }()),
            "malformed");
  EXPECT_EQ(unpacked(ChunkedBody(signer(), false), "3\r\nabc\r\n0\r\n\r\n", 1000), "malformed");
  EXPECT_EQ(unpacked(ChunkedBody(std::nullopt, false), "0\r\na:b\r\n\r\n", 1000), "malformed");
  EXPECT_EQ(unpacked(ChunkedBody(signer(), true), signed_body({"abc"}, ""), 1000), "malformed");
}

}  // namespace
}  // namespace drover::aws
