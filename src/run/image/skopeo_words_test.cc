#include "run/image/skopeo_words.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "run/image/skopeo.h"

namespace drover {
namespace {

ImageError error_of(std::string_view image, std::string_view cause) {
  const auto reference = ImageReference::parse(image);
  return skopeo_error(concat("time=\"2026-01-01T00:00:00Z\" level=warning msg=\"something else: unauthorized\"\n",
                             "time=\"2026-01-01T00:00:00Z\" level=fatal msg=\"Error parsing image name \\\"docker://",
                             reference->text(), "\\\": ", cause, "\"\n"),
                      *reference);
}

std::string fault_of(std::string_view image, std::string_view cause) {
  return std::string(to_string(error_of(image, cause).fault));
}

TEST(SkopeoWords, ARegistryThatAsksToBeLeftAloneIsHeard) {
  const auto error_after = [](std::string_view header) {
    return skopeo_error(
        concat("time=\"2026-01-01T00:00:00Z\" level=debug msg=\"Detected 'Retry-After' header \\\"5\\\"\"\n",
               "time=\"2026-01-01T00:00:00Z\" level=debug msg=\"Detected 'Retry-After' header \\\"", header, "\\\"\"\n",
               "time=\"2026-01-01T00:00:00Z\" level=fatal msg=\"pinging container registry h: too many requests to "
               "registry\"\n"),
        *ImageReference::parse("h.example/x"));
  };
  EXPECT_EQ(error_after("30").fault, ImageFault::unreachable);
  EXPECT_EQ(error_after("30").retry_after_ms, 30'000);
  EXPECT_EQ(error_after("Fri, 31 Dec 1999 23:59:59 GMT").retry_after_ms, 0);
  EXPECT_EQ(error_after("-7").retry_after_ms, 0);
  EXPECT_EQ(error_after("99999999999999999999").retry_after_ms, 0);
  EXPECT_EQ(error_after("9999999999").retry_after_ms, 86'400'000);
  EXPECT_EQ(error_of("h.example/x", "too many requests to registry").retry_after_ms, 0);
}

TEST(SkopeoWords, FaultsAreToldApart) {
  EXPECT_EQ(fault_of("x", "reading manifest latest in docker.io/library/x: manifest unknown: manifest unknown"),
            "missing");
  EXPECT_EQ(
      fault_of("x",
               "reading manifest latest in docker.io/library/x: name unknown: repository name not known to registry"),
      "missing");
  EXPECT_EQ(fault_of("x",
                     "reading manifest latest in docker.io/library/x: errors:\\ndenied: requested access to the "
                     "resource is denied\\nunauthorized: authentication required"),
            "unauthorized");
  EXPECT_EQ(
      fault_of(
          "x",
          "unable to retrieve auth token: invalid username/password: unauthorized: incorrect username or password"),
      "unauthorized");
  EXPECT_EQ(fault_of("h.example/x",
                     "pinging container registry h.example: Get \\\"https://h.example/v2/\\\": dial tcp: lookup "
                     "h.example: no such host"),
            "unreachable");
  EXPECT_EQ(fault_of("h.example/x",
                     "pinging container registry h.example: Get \\\"https://h.example/v2/\\\": dial tcp 10.0.0.1:443: "
                     "connect: connection refused"),
            "unreachable");
  EXPECT_EQ(fault_of("h.example/x",
                     "pinging container registry h.example: Get \\\"https://h.example/v2/\\\": http: server gave HTTP "
                     "response to HTTPS client"),
            "unreachable");
  EXPECT_EQ(fault_of("h.example/x", "Get \\\"https://h.example/v2/\\\": dial tcp 10.0.0.1:443: i/o timeout"),
            "timed_out");
  EXPECT_EQ(
      fault_of("x", "writing blob: happened during read: Digest did not match, expected sha256:aa, got sha256:bb"),
      "bad_digest");
  EXPECT_EQ(fault_of("x", "writing blob: write /store/oci-put-blob1: no space left on device"), "no_space");
  EXPECT_EQ(
      fault_of(
          "x",
          "reading manifest latest in docker.io/library/x: toomanyrequests: You have reached your pull rate limit"),
      "unreachable");
  EXPECT_EQ(
      fault_of(
          "x",
          "choosing an image from manifest list: no image found in manifest list for architecture riscv64, OS linux"),
      "wrong_architecture");
  EXPECT_EQ(fault_of("x", "something that nobody has ever heard of"), "unreachable");
  EXPECT_EQ(fault_of("docker-archive:/x.tar", "something that nobody has ever heard of"), "corrupt");
  EXPECT_EQ(fault_of("docker-archive:/x.tar", "reading tar: unexpected EOF"), "corrupt");
}

TEST(SkopeoWords, AnImagesNameIsNoReason) {
  EXPECT_EQ(fault_of("h.example/unauthorized", "reading manifest latest in h.example/unauthorized: manifest unknown"),
            "missing");
  EXPECT_EQ(fault_of("h.example/x:unauthorized", "reading manifest unauthorized in h.example/x: manifest unknown"),
            "missing");
  EXPECT_EQ(fault_of("h.example/eof", "reading manifest latest in h.example/eof: name unknown"), "missing");
}

TEST(SkopeoWords, TheSentenceSaysWhatAndWhatNext) {
  const ImageError error =
      error_of("h.example/x", "reading manifest latest in h.example/x: unauthorized: authentication required");
  EXPECT_EQ(error.sentence(),
            "h.example requires a login, or denies access to this user (reading manifest latest in h.example/x: "
            "unauthorized: authentication required): "
            "log in with docker login h.example, or check the image name");
  EXPECT_EQ(error.blame, Blame::user);
}

TEST(SkopeoWords, LoginDataThatCannotBeUsedIsTheMachines) {
  for (const char* cause :
       {"getting username and password: 1 error occurred:\\n\\t* error getting credentials - err: exec: "
        "\\\"docker-credential-x\\\": executable file not found in $PATH, out: ``\\n\\n",
        "getting username and password: 1 error occurred:\\n\\t* reading JSON file \\\"/x/config.json\\\": "
        "unmarshaling "
        "JSON at \\\"/x/config.json\\\": unexpected end of JSON input\\n\\n",
        "getting username and password: 1 error occurred:\\n\\t* illegal base64 data at input byte 0\\n\\n"}) {
    const ImageError error = error_of("h.example/x", cause);
    EXPECT_EQ(error.fault, ImageFault::unauthorized) << error.sentence();
    EXPECT_EQ(error.blame, Blame::machine);
    EXPECT_TRUE(error.message.starts_with("the registry credentials on this machine cannot be used ("))
        << error.sentence();
    EXPECT_EQ(error.next, "fix Docker's config.json on this machine, or the file named by DROVER_REGISTRY_AUTH");
  }
}

TEST(SkopeoWords, AFullDiskMayGetRoom) {
  EXPECT_EQ(error_of("h.example/x", "writing blob: write /x: no space left on device").disk, ImageError::Disk::is_full);
  EXPECT_EQ(error_of("h.example/x", "writing blob: connection reset by peer").disk, ImageError::Disk::as_it_is);
}

TEST(SkopeoWords, ADaemonIsTheMachines) {
  const ImageError none =
      error_of("docker-daemon:x",
               "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?");
  EXPECT_EQ(none.fault, ImageFault::unreachable);
  EXPECT_EQ(none.blame, Blame::machine);
  const ImageError old = error_of("docker-daemon:x",
                                  "loading image from docker engine: Error response from daemon: client version 1.22 "
                                  "is too old. Minimum supported API version is 1.24");
  EXPECT_EQ(old.fault, ImageFault::unsupported);
  EXPECT_EQ(old.next, "use docker save and docker-archive:PATH");
}

TEST(SkopeoWords, WithoutALogTheLastLineCounts) {
  EXPECT_EQ(skopeo_reason("one\ntwo\n"), "two");
  EXPECT_EQ(skopeo_reason(""), "");
}

TEST(Skopeo, OnlyThisMachineIsLoopback) {
  for (std::string_view host : {"localhost", "localhost:5000", "127.0.0.1", "127.1.2.3:80", "[::1]:5000"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (std::string_view host :
       {"localhost.example", "127.evil.example", "127.0.0.1.example", "10.0.0.1", "docker.io", "[::2]"}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace drover
