#include "wire/digest.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(Digest, GivesTheNumbersOfTheStandards) {
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha1("Jefe", "what do ya want for nothing?")), "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79");
}

TEST(Digest, AKeyServesManyTexts) {
  const HmacSha256 key("Jefe");
  for (const char* text : {"", "a", "what do ya want for nothing?", "a"}) {
    EXPECT_EQ(key.of(text), hmac_sha256("Jefe", text)) << text;
  }
  EXPECT_EQ(hex(hmac_sha256({}, {})), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(Digest, ComparesAllOfBothTexts) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  for (const char* other : {"", "ab", "abcd", "abd", "Abc"})
    EXPECT_FALSE(equal_in_constant_time("abc", other)) << other;
}

TEST(Digest, AWipedTextIsEmpty) {
  std::string secret(100, 'x');
  wipe(secret);
  EXPECT_EQ(secret, "");
}

TEST(Digest, Base64UrlReadsBackForEveryLength) {
  for (std::size_t length = 0; length < 50; ++length) {
    std::string bytes;
    for (std::size_t i = 0; i < length; ++i) bytes += static_cast<char>(255 - i * 7);
    const std::string text = base64url(bytes);
    EXPECT_EQ(text.find_first_of("+/="), std::string::npos);
    EXPECT_EQ(from_base64url(text), bytes);
  }
}

TEST(Digest, WhatIsNoBase64UrlIsRefused) {
  for (const char* text : {"A", "AA=", "AA==", "A+AA", "A/AA", "A AA", "AAAAA"}) {
    EXPECT_FALSE(from_base64url(text)) << text;
  }
}

}  // namespace
}  // namespace drover
