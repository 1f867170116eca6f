#include "wire/image_reference.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace drover {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

std::string read(std::string_view text) {
  auto reference = ImageReference::parse(text);
  return reference ? reference->text() : concat("refused: ", reference.error().message);
}

TEST(ImageReference, ShortNamesAreDockersOwn) {
  EXPECT_EQ(read("python"), "docker.io/library/python:latest");
  EXPECT_EQ(read("python:3.12-slim"), "docker.io/library/python:3.12-slim");
  EXPECT_EQ(read("biocontainers/samtools"), "docker.io/biocontainers/samtools:latest");
  EXPECT_EQ(read("docker.io/python"), "docker.io/library/python:latest");
  EXPECT_EQ(read("index.docker.io/library/python"), "docker.io/library/python:latest");
  EXPECT_EQ(read("docker://python:3"), "docker.io/library/python:3");
}

TEST(ImageReference, AHostIsWhatCannotBeAName) {
  EXPECT_EQ(read("localhost/tool"), "localhost/tool:latest");
  EXPECT_EQ(read("localhost:5000/tool:1"), "localhost:5000/tool:1");
  EXPECT_EQ(read("registry.example.com/a/b/c"), "registry.example.com/a/b/c:latest");
  EXPECT_EQ(read("[::1]:5000/tool"), "[::1]:5000/tool:latest");
  EXPECT_EQ(read("HOST:443/tool"), "HOST:443/tool:latest");
  EXPECT_EQ(read("host/tool"), "docker.io/host/tool:latest");
  // Without a slash there is no host: this is a name and a tag.
  EXPECT_EQ(read("tool:5000"), "docker.io/library/tool:5000");
}

TEST(ImageReference, ADigestNeedsNoTag) {
  EXPECT_EQ(read("python@" + kDigest), "docker.io/library/python@" + kDigest);
  EXPECT_EQ(read("python:3@" + kDigest), "docker.io/library/python:3@" + kDigest);
  EXPECT_EQ(read("h:1/x@" + kDigest), "h:1/x@" + kDigest);
  EXPECT_EQ(read("python@sha256:abc"), "refused: image 'python@sha256:abc': the part after @ is not a digest");
  EXPECT_TRUE(read("python@sha512:" + std::string(128, 'a')).ends_with("only sha256 digests are supported"));
  EXPECT_TRUE(read("python@sha256:" + std::string(64, 'A')).starts_with("refused"));
}

TEST(ImageReference, PlacesKeepTheirPaths) {
  EXPECT_EQ(read("oci:/a/b"), "oci:/a/b");
  EXPECT_EQ(read("oci:a/b:1.2"), "oci:a/b:1.2");
  EXPECT_EQ(read("oci:/a:b/c:1"), "oci:/a:b/c:1");
  EXPECT_EQ(ImageReference::parse("oci:/a:b/c:1")->path, "/a:b/c");
  // Images of a layout may have whole names.
  EXPECT_EQ(read("oci:/a/b:docker.io/library/x:1.0"), "oci:/a/b:docker.io/library/x:1.0");
  EXPECT_EQ(ImageReference::parse("oci:/a:b/c:docker.io/library/x:1.0")->path, "/a:b/c");
  EXPECT_EQ(ImageReference::parse("oci:/a:b/c:docker.io/library/x:1.0@" + kDigest)->tag, "docker.io/library/x:1.0");
  EXPECT_EQ(ImageReference::parse("oci:x:localhost:5000/t:1")->tag, "localhost:5000/t:1");
  EXPECT_EQ(read("oci:/a b/c@" + kDigest), "oci:/a b/c@" + kDigest);
  EXPECT_EQ(read("docker-archive:/x.tar"), "docker-archive:/x.tar");
  EXPECT_EQ(read("docker-archive:/x.tar:tool:1"), "docker-archive:/x.tar:docker.io/library/tool:1");
  EXPECT_EQ(read("docker-archive:/x.tar:h:5000/tool"), "docker-archive:/x.tar:h:5000/tool:latest");
  EXPECT_EQ(read("docker-daemon:tool"), "docker-daemon:docker.io/library/tool:latest");
  EXPECT_EQ(read("docker-daemon:tool@" + kDigest), "docker-daemon:docker.io/library/tool:latest@" + kDigest);
  EXPECT_EQ(read("rootfs:/srv/a@b:c"), "rootfs:/srv/a@b:c");
  EXPECT_TRUE(ImageReference::parse("rootfs:/srv")->is_local_path());
  EXPECT_FALSE(ImageReference::parse("docker-daemon:x")->is_local_path());
}

TEST(ImageReference, WhatIsPrintedIsReadBackAlike) {
  for (std::string_view text :
       {"python", "h:5000/a/b:t", "oci:/a:b/c:1", "oci:x", "oci:a:h.example/b:2", "docker-archive:x.tar:h:1/t:2",
        "docker-daemon:a/b", "rootfs:/x:y@z", "docker-archive:x.tar"}) {
    const auto first = ImageReference::parse(text);
    ASSERT_TRUE(first) << text;
    EXPECT_EQ(ImageReference::parse(first->text()).value(), *first) << text;
    if (first->source == ImageReference::Source::root_folder) continue;
    const ImageReference pinned = first->pinned(kDigest);
    EXPECT_EQ(ImageReference::parse(pinned.text()).value(), pinned) << text;
  }
}

TEST(ImageReference, LargeLettersAreRefusedWithTheSmallOnes) {
  auto reference = ImageReference::parse("Python:3.12");
  ASSERT_FALSE(reference);
  EXPECT_EQ(reference.error().code, ErrorCode::bad_input);
  EXPECT_EQ(reference.error().message, "image 'Python:3.12': image names must be lower case");
  EXPECT_EQ(reference.error().next, "did you mean python?");
  auto in_front = ImageReference::parse("UPPER/case:1");
  ASSERT_FALSE(in_front);
  EXPECT_EQ(in_front.error().message, "image 'UPPER/case:1': image names must be lower case");
  EXPECT_EQ(in_front.error().next, "did you mean upper/case:1? To name a registry, add its port: UPPER:443/case:1");
  EXPECT_EQ(read("python:LATEST"), "docker.io/library/python:LATEST");
}

TEST(ImageReference, WhatIsNoNameIsRefused) {
  for (std::string_view text : {"",
                                ":",
                                ":tag",
                                "@",
                                "a:",
                                "a//b",
                                "/a",
                                "a/",
                                "-a",
                                "a-",
                                "a..b",
                                "a___b",
                                "a.-b",
                                "a b",
                                "a:b:c",
                                "h:port/x",
                                "a:-t",
                                "oci:",
                                "oci::t",
                                "docker-archive:",
                                "docker-archive:x:",
                                "docker-daemon:",
                                "rootfs:",
                                "../a",
                                "a/../b",
                                "h:123456/x",
                                "[::1/x",
                                "-h.a/x"}) {
    EXPECT_TRUE(read(text).starts_with("refused: image '")) << text << " → " << read(text);
  }
  EXPECT_TRUE(read(std::string(64, 'a')).starts_with("refused")) << "the id of an image";
  EXPECT_TRUE(read("a:" + std::string(129, 't')).starts_with("refused"));
  EXPECT_TRUE(read(std::string(250, 'n')).starts_with("refused"));
  EXPECT_EQ(read("a__b/c--d/e.f"), "docker.io/a__b/c--d/e.f:latest");
}

}  // namespace
}  // namespace drover
