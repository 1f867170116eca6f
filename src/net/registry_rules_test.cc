#include "net/registry_rules.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(RegistryRules, TheUsualOnesArePublic) {
  const RegistryRules rules = RegistryRules::usual();
  for (const char* host : {"docker.io", "ghcr.io", "quay.io", "public.ecr.aws", "gcr.io", "registry.k8s.io"}) {
    ASSERT_NE(rules.find(host), nullptr) << host;
    EXPECT_FALSE(rules.find(host)->was_named);
    EXPECT_FALSE(rules.find(host)->allows_plain_http());
    EXPECT_FALSE(rules.names("https", registry_endpoint(host), "443"));
  }
  EXPECT_EQ(rules.find("registry.example.org"), nullptr);
  EXPECT_EQ(rules.find("127.0.0.1:5000"), nullptr);
}

TEST(RegistryRules, ThoseThatAreNamedReplaceTheUsualOnes) {
  const auto rules =
      RegistryRules::parse({"docker.io", "10.0.0.7:5000", "http://lan:5000", "https://Team.example.org"});
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->find("ghcr.io"), nullptr);
  EXPECT_TRUE(rules->find("10.0.0.7:5000")->was_named);
  EXPECT_FALSE(rules->find("10.0.0.7:5000")->allows_plain_http());
  EXPECT_TRUE(rules->find("lan:5000")->allows_plain_http());
  EXPECT_TRUE(rules->names("https", "registry-1.docker.io", "443"));
  EXPECT_TRUE(rules->names("https", "10.0.0.7", "5000"));
  EXPECT_TRUE(rules->names("https", "team.example.org", "443"));
  EXPECT_TRUE(rules->names("http", "lan", "5000"));
  EXPECT_FALSE(rules->names("http", "10.0.0.7", "5000")) << "it was named with TLS";
  EXPECT_FALSE(rules->names("https", "10.0.0.7", "443")) << "another port is another service";
  EXPECT_FALSE(rules->names("http", "lan", "80"));
}

TEST(RegistryRules, NoneIsNone) {
  const auto rules = RegistryRules::parse({"none"});
  ASSERT_TRUE(rules);
  EXPECT_EQ(rules->find("docker.io"), nullptr);
}

TEST(RegistryRules, WhatIsNoRegistryIsRefused) {
  for (const char* name :
       {"", "none of them", "docker.io/library", "ftp://x.org", "lan", "x.org:port", "a.b:1:2", "user@x.org"}) {
    EXPECT_FALSE(RegistryRules::parse({name})) << name;
  }
  EXPECT_FALSE(RegistryRules::parse({"none", "docker.io"}));
}

TEST(RegistryRules, OnlyWhatIsAllowedCanBeLeftUnverified) {
  auto rules = RegistryRules::parse({"10.0.0.7:5000"});
  rules->do_not_verify({"10.0.0.7:5000", "other:5000"});
  EXPECT_EQ(rules->find("10.0.0.7:5000")->security, RegistryRule::Security::unverified);
  EXPECT_EQ(rules->find("other:5000"), nullptr);
}

}  // namespace
}  // namespace drover
