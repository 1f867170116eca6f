#include "wire/aws/signing_key.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/text.h"

namespace drover::aws {
namespace {

const SigningScope kKeyScope{"20261115", "us-east-1", "s3"};

std::shared_ptr<const SigningKey> key_of(const char* secret) {
  return std::make_shared<SigningKey>(secret, kKeyScope);
}

TEST(SigningKey, DependsOnAllItIsMadeFrom) {
  const std::string signature = SigningKey("secret", kKeyScope).sign("text");
  EXPECT_EQ(SigningKey("secret", kKeyScope).sign("text"), signature);
  EXPECT_NE(SigningKey("Secret", kKeyScope).sign("text"), signature);
  EXPECT_NE(SigningKey("secret", kKeyScope).sign("Text"), signature);
  EXPECT_NE(SigningKey("secret", {"20261116", "us-east-1", "s3"}).sign("text"), signature);
  EXPECT_NE(SigningKey("secret", {"20261115", "us-east-2", "s3"}).sign("text"), signature);
  EXPECT_NE(SigningKey("secret", {"20261115", "us-east-1", "sqs"}).sign("text"), signature);
}

TEST(SigningKeyCache, HasANameForEachKey) {
  const std::string name = SigningKeyCache::name_of("AKID", "secret", kKeyScope);
  EXPECT_NE(SigningKeyCache::name_of("AKIE", "secret", kKeyScope), name);
  EXPECT_NE(SigningKeyCache::name_of("AKID", "changed", kKeyScope), name);
  EXPECT_NE(SigningKeyCache::name_of("AKID", "secret", {"20261115", "us-east-1", "sqs"}), name);
  EXPECT_EQ(name.find("secret"), std::string::npos);
}

TEST(SigningKeyCache, TheOldestIsRemoved) {
  SigningKeyCache cache(2);
  const auto first = key_of("1");
  cache.keep("1", first);
  cache.keep("1", key_of("other"));
  cache.keep("2", key_of("2"));
  EXPECT_EQ(cache.find("1"), first);
  cache.keep("3", key_of("3"));
  EXPECT_EQ(cache.find("1"), nullptr);
  EXPECT_NE(cache.find("2"), nullptr);
  EXPECT_NE(cache.find("3"), nullptr);
}

TEST(SigningKeyCache, ThreadsShareIt) {
  SigningKeyCache cache(10);
  const auto use = [&cache] {
    for (int i = 0; i < 2000; ++i) {
      const std::string name = concat(i % 20);
      const auto found = cache.find(name);
      const std::string wanted = key_of(name.c_str())->sign("text");
      if (found == nullptr) {
        cache.keep(name, key_of(name.c_str()));
      } else {
        EXPECT_EQ(found->sign("text"), wanted);
      }
    }
  };
  std::jthread other(use);
  use();
}

}  // namespace
}  // namespace drover::aws
