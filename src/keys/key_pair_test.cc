#include "keys/key_pair.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>

#include "base/text.h"

namespace drover {
namespace {

// Made by ssh-keygen, which also says the second fingerprint; openssl md5 says the first.
constexpr std::string_view kRsaLine =
    "ssh-rsa "
    "AAAAB3NzaC1yc2EAAAADAQABAAABAQCwJjSAs5DtEs4bwUTr2sc+rjqVTnRE6gk9AwMgPkld5mm51J/VLWgFE+yVnX1l1hV9rkVVL1NncK8"
    "SEMgheC0bV4Lv75d0bJhLxXwT+iIGDwEy7mIIXEKGkE6UjkXkBCSycChkawXO0zDqPEY9oWD+i53psGK144g1YFDO8pn4SQRj1etQmT+"
    "xQODpWN5XGA"
    "KBF87PGTbSlSSq7o/K6MtO+nk3Ug8Q1tpF5UrEsJsw+HsA691f24VmA5Dz6kkoVX9fi3/"
    "ZkyfoOhdnvnP7qdXLjoZmEaYC5v8DH0lvj2FA1q9vDTbUL"
    "/Dubl7BDFN8innzhvyh+wqjSivWvGKsudol";
constexpr std::string_view kEd25519Line =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGzy2Bh/W+0PHzoXMOjQoNkCPqumbTQFeeYKgTsq5shx";

TEST(KeyPair, FingerprintsOfPublicKeysAreThoseOfOtherPrograms) {
  const auto rsa = read_public_key(kRsaLine);
  ASSERT_TRUE(rsa) << rsa.error().message;
  EXPECT_EQ(rsa->type, KeyPairType::rsa);
  EXPECT_EQ(rsa->text, kRsaLine);
  EXPECT_EQ(rsa->fingerprint, "7f:3f:4a:96:d5:b0:10:8c:bd:1d:37:42:13:d8:78:7b");
  const auto ed25519 = read_public_key(concat(kEd25519Line, " someone@example\n"));
  ASSERT_TRUE(ed25519) << ed25519.error().message;
  EXPECT_EQ(ed25519->type, KeyPairType::ed25519);
  EXPECT_EQ(ed25519->text, kEd25519Line);
  EXPECT_EQ(ed25519->fingerprint, "/JVCSrYg0qDphVRXAdJT4kDgma12RDgE5AQ+9zzpDg4=");
}

TEST(KeyPair, AnRsaKeyIsPemOf2048Bits) {
  const auto made = make_key_pair(KeyPairType::rsa);
  ASSERT_TRUE(made) << made.error().message;
  const std::string& pem = made->private_pem.reveal();
  EXPECT_TRUE(pem.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                          BIO_free_all);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
  ASSERT_TRUE(key);
  EXPECT_EQ(EVP_PKEY_get_bits(key.get()), 2048);
  EXPECT_EQ(made->fingerprint.size(), 59U);
  EXPECT_NE(made->fingerprint, made->public_key.fingerprint);
}

TEST(KeyPair, WhatIsMadeIsReadBackAndNeverMadeTwice) {
  for (const KeyPairType type : {KeyPairType::rsa, KeyPairType::ed25519}) {
    const auto made = make_key_pair(type);
    const auto other = make_key_pair(type);
    ASSERT_TRUE(made && other);
    EXPECT_NE(made->private_pem.reveal(), other->private_pem.reveal());
    const auto read = read_public_key(made->public_key.text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->fingerprint, made->public_key.fingerprint);
  }
}

TEST(KeyPair, EveryTruncatedPublicKeyIsRefused) {
  for (const std::string_view line : {kRsaLine, kEd25519Line}) {
    for (std::size_t size = 0; size < line.size(); ++size) {
      EXPECT_FALSE(read_public_key(line.substr(0, size))) << line.substr(0, size);
    }
  }
}

TEST(KeyPair, OtherTypesAndOtherTextsAreRefused) {
  for (const std::string_view line :
       {"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlz", "ssh-rsa", "ssh-rsa ",
        "ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAAIGzy2Bh/W+0PHzoXMOjQoNkCPqumbTQFeeYKgTsq5shx",
        "ssh-rsa AAAAB3NzaC1yc2EAAAABAwAAAAEj", "-----BEGIN PUBLIC KEY-----"}) {
    const auto read = read_public_key(line);
    ASSERT_FALSE(read) << line;
    EXPECT_EQ(read.error().code, ErrorCode::bad_input);
  }
}

}  // namespace
}  // namespace drover
