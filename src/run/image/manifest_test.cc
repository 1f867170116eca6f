#include "run/image/manifest.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace drover {
namespace {

const std::string kA = "sha256:" + std::string(64, 'a');
const std::string kB = "sha256:" + std::string(64, 'b');

std::string entry(std::string_view digest, std::string_view os, std::string_view architecture,
                  std::string_view variant = "") {
  return concat(R"({"digest":")", digest, R"(","size":1,"platform":{"os":")", os, R"(","architecture":")", architecture,
                R"(","variant":")", variant, R"("}})");
}

ImageIndex index_of(const std::string& entries) {
  return index_from_json(concat(R"({"manifests":[)", entries, "]}")).value();
}

TEST(Manifest, AnIndexIsToldByWhatItSays) {
  EXPECT_TRUE(is_index(R"({"manifests":[]})"));
  EXPECT_FALSE(is_index(R"({"layers":[],"manifests":[]})"));
  EXPECT_FALSE(is_index("[]"));
  EXPECT_FALSE(is_index("nonsense"));
}

TEST(Manifest, ThisKindOfMachineIsChosen) {
  const ImageIndex index = index_of(entry(kA, "linux", "arm64") + "," + entry(kB, "linux", "amd64"));
  EXPECT_EQ(choose(index, {"linux", "amd64", ""})->manifest.digest, kB);
  EXPECT_EQ(choose(index, {"linux", "arm64", "v8"})->manifest.digest, kA);
  const auto none = choose(index, {"linux", "riscv64", ""});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().fault, ImageFault::wrong_architecture);
  EXPECT_EQ(none.error().message, "not available for this platform (linux/riscv64), only for linux/arm64, linux/amd64");
}

TEST(Manifest, OfSeveralVariantsTheSameOrTheOldest) {
  const ImageIndex index = index_of(entry(kA, "linux", "arm", "v7") + "," + entry(kB, "linux", "arm", "v6"));
  EXPECT_EQ(choose(index, {"linux", "arm", "v7"})->manifest.digest, kA);
  EXPECT_EQ(choose(index, {"linux", "arm", "v5"})->manifest.digest, kB);
}

TEST(Manifest, AttestationsAreNoImages) {
  const ImageIndex index = index_of(entry(kA, "unknown", "unknown"));
  EXPECT_EQ(index.platforms(), "");
  for (const ImageIndex& none : {index, index_of("")}) {
    const auto chosen = choose(none, {"linux", "amd64", ""});
    ASSERT_FALSE(chosen);
    EXPECT_EQ(chosen.error().fault, ImageFault::missing);
    EXPECT_EQ(chosen.error().message, "its index lists no image");
  }
}

TEST(Manifest, TheOnlyOneNeedNotSayWhatItIsFor) {
  const auto without = [](const std::string& digest) { return concat(R"({"digest":")", digest, R"(","size":1})"); };
  const Platform machine{"linux", "amd64", ""};
  EXPECT_EQ(choose(index_of(without(kA)), machine)->manifest.digest, kA);
  EXPECT_EQ(choose(index_of(without(kA) + "," + entry(kB, "unknown", "unknown")), machine)->manifest.digest, kA);
  EXPECT_EQ(choose(index_of(without(kA) + "," + entry(kB, "linux", "amd64")), machine)->manifest.digest, kB);
  const auto two = choose(index_of(without(kA) + "," + without(kB)), machine);
  ASSERT_FALSE(two);
  EXPECT_EQ(two.error().message, "its index lists 2 images without a platform");
}

TEST(Manifest, WhatIsNoImageIsRefused) {
  const auto fault = [](const std::string& json) {
    const auto manifest = manifest_from_json(json);
    return manifest ? std::string("fine") : std::string(to_string(manifest.error().fault));
  };
  const std::string config = concat(R"("config":{"digest":")", kA, R"("})");
  EXPECT_EQ(fault(concat("{", config, R"(,"layers":[]})")), "fine");
  EXPECT_EQ(fault(R"({"schemaVersion":1,"fsLayers":[]})"), "unsupported");
  EXPECT_EQ(fault(concat(R"({"config":{"mediaType":"application/vnd.cncf.helm.config.v1+json","digest":")", kA,
                         R"("},"layers":[]})")),
            "unsupported");
  EXPECT_EQ(fault(concat("{", config, R"(,"layers":[{"mediaType":"application/x-squashfs","digest":")", kB, R"("}]})")),
            "unsupported");
  EXPECT_EQ(fault(concat("{", config, R"(,"layers":[{"digest":"sha512:00"}]})")), "unsupported");
  EXPECT_EQ(fault(concat("{", config, R"(,"layers":[{"digest":"sha256:../../etc"}]})")), "unsupported");
  EXPECT_EQ(fault(concat("{", config, R"(,"layers":[{"digest":")", kB, R"(","size":-1}]})")), "corrupt");
  EXPECT_EQ(fault(concat("{", config, "}")), "corrupt");
  EXPECT_EQ(fault("{}"), "corrupt");
  EXPECT_EQ(fault("<html>"), "corrupt");
}

TEST(Manifest, AConfigurationMayLeaveEverythingOut) {
  const auto config = config_from_json("{}");
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->entrypoint.empty());
  EXPECT_TRUE(check_platform(config->platform, this_platform()));
  EXPECT_TRUE(config_from_json(R"({"config":null,"rootfs":null})"));
  EXPECT_TRUE(config_from_json(R"({"config":{"Env":null,"Labels":null,"Cmd":["sh"]}})"));
}

TEST(Manifest, WhatItRunsAsIsNotGuessed) {
  for (const char* config :
       {R"({"User":1000})", R"({"Env":{}})", R"({"Entrypoint":"x"})", R"({"Cmd":["a",1]})", R"({"WorkingDir":[]})"}) {
    const auto read = config_from_json(concat(R"({"config":)", config, "}"));
    ASSERT_FALSE(read) << config;
    EXPECT_EQ(read.error().fault, ImageFault::corrupt);
  }
}

TEST(Manifest, SumsDoNotOverflow) {
  const ImageManifest manifest{{}, {{kA, UINT64_MAX, ""}, {kB, 5, ""}}};
  EXPECT_EQ(manifest.compressed_bytes(), UINT64_MAX);
}

}  // namespace
}  // namespace drover
