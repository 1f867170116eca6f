#include <sys/wait.h>

#include "run/docker/docker_fixture.h"
#include "run/image/image_fixture.h"

namespace drover {
namespace {

class DockerImages : public DockerTest {
 protected:
  DockerImages() { options_.silence_limit = std::chrono::seconds(20); }

  static void push(ImageServer& registry, const std::string& layout, const std::string& name,
                   const std::string& more = {}) {
    ASSERT_EQ(registry.tell(concat("oci:", catalogue(), "/", layout, " ", name, more)), "pushed");
  }
  ImageResult<DockerImage> ensure(const std::string& name, const std::string& digest = {}) {
    return ensure_image(daemon(), name, digest, options_);
  }
  void forget(const std::string& name) {
    ASSERT_TRUE(
        daemon().ask_now(daemon().request("DELETE", concat("/images/", name, "?force=1")), "remove").has_value());
  }
  std::string fault_of(const std::string& name, const std::string& digest = {}) {
    const ImageResult<DockerImage> image = ensure(name, digest);
    if (image) return "ready";
    said_ = image.error().sentence();
    return std::string(to_string(image.error().fault));
  }

  PullOptions options_;
  std::string said_;
};

TEST_F(DockerImages, WhatTheDaemonHasIsFoundAndSaysWhatItWants) {
  const ImageResult<DockerImage> image = ensure(kGreeter);
  ASSERT_TRUE(image.has_value()) << image.error().sentence();
  EXPECT_TRUE(image->id.starts_with("sha256:"));
  EXPECT_EQ(image->defaults.entrypoint, (std::vector<std::string>{"echo", "hello"}));
  EXPECT_EQ(image->defaults.command, (std::vector<std::string>{"from", "the", "image"}));
  EXPECT_EQ(image->defaults.environment, (std::vector<std::string>{"PATH=/bin"}));
}

TEST_F(DockerImages, AMissingOneIsPulledOnceAndKnownByItsDigest) {
  ImageServer registry({"registry"});
  push(registry, "plain-gzip", "team/tool:1");
  const std::string name = concat(registry.host(), "/team/tool:1");
  std::vector<ImageProgress> told;
  options_.progress = [&](const ImageProgress& progress) { told.push_back(progress); };
  const ImageResult<DockerImage> image = ensure(name);
  ASSERT_TRUE(image.has_value()) << image.error().sentence();
  EXPECT_FALSE(told.empty());
  EXPECT_EQ(image->defaults.user, "user:user");

  Result<boost::json::value> said =
      daemon().ask_now(daemon().request("GET", concat("/images/", image->id, "/json")), "");
  ASSERT_TRUE(said.has_value());
  const std::string full(value_at(*said, {"RepoDigests"})->as_array().at(0).as_string());
  const std::string digest = full.substr(full.find('@') + 1);
  told.clear();
  EXPECT_EQ(fault_of(name, digest), "ready") << said_;
  EXPECT_TRUE(told.empty()) << "it was there";

  // The tag goes on; the digest still means the same.
  push(registry, "shared-base", "team/tool:1");
  forget(name);
  const ImageResult<DockerImage> again = ensure(name, digest);
  ASSERT_TRUE(again.has_value()) << again.error().sentence();
  EXPECT_EQ(again->id, image->id);
  EXPECT_EQ(fault_of(name, "sha256:" + std::string(64, '0')), "missing") << said_;

  plan_.name = name;
  options().digest = digest;
  options().user = "0";
  EXPECT_EQ(run(task({"echo $GREETING"})).out, "hello there\n");
  close_slot();
  forget(concat(registry.host(), "/team/tool@", digest));
}

TEST_F(DockerImages, WhatTheRegistryDoesNotHaveIsMissing) {
  ImageServer registry({"registry"});
  push(registry, "plain-gzip", "tool:1");
  EXPECT_EQ(fault_of(concat(registry.host(), "/tool:2")), "missing");
  EXPECT_NE(said_.find("tool:2"), std::string::npos) << said_;
  EXPECT_EQ(fault_of(concat(registry.host(), "/other:1")), "missing") << said_;
}

TEST_F(DockerImages, ARegistryThatWantsALoginSaysSo) {
  ImageServer registry({"registry", "login"});
  push(registry, "plain-gzip", "tool:1", " --dest-creds shepherd:sesame");
  const std::string name = concat(registry.host(), "/tool:1");
  options_.access.auth_file = folder_ / "none.json";
  EXPECT_EQ(fault_of(name), "unauthorized") << said_;
  options_.access.auth_file = folder_ / "config.json";
  std::ofstream(options_.access.auth_file)
      << R"({"auths":{")" << registry.host() << R"(":{"auth":"c2hlcGhlcmQ6d3Jvbmc="}}})";
  EXPECT_EQ(fault_of(name), "unauthorized") << said_;
  std::ofstream(options_.access.auth_file)
      << R"({"auths":{")" << registry.host() << R"(":{"auth":"c2hlcGhlcmQ6c2VzYW1l"}}})";
  EXPECT_EQ(fault_of(name), "ready") << said_;
  forget(name);
}

TEST_F(DockerImages, NobodyThereIsUnreachable) {
  EXPECT_EQ(fault_of("127.0.0.1:1/tool:1"), "unreachable") << said_;
}

TEST_F(DockerImages, ARegistryThatHangsIsGivenUp) {
  ImageServer proxy({"proxy", "hang", "127.0.0.1:1"});
  options_.silence_limit = std::chrono::seconds(2);
  EXPECT_EQ(fault_of(concat(proxy.host(), "/tool:1")), "timed_out") << said_;
}

TEST_F(DockerImages, AnotherArchitecturesIsNamedAsSuch) {
  ImageServer registry({"registry"});
  push(registry, "index-other", "tool:1", " --all");
  EXPECT_EQ(fault_of(concat(registry.host(), "/tool:1")), "wrong_architecture") << said_;
}

TEST_F(DockerImages, WhatIsNoNameIsRefused) {
  EXPECT_EQ(fault_of("Not A Name"), "unsupported") << said_;
}

TEST_F(DockerImages, AnArchiveIsLoaded) {
  const ImageResult<std::string> name = load_image(daemon(), catalogue() + "/plain.tar");
  ASSERT_TRUE(name.has_value()) << name.error().sentence();
  EXPECT_TRUE(find_image(daemon(), *name, {}).has_value()) << *name;
  forget(*name);
  EXPECT_EQ(load_image(daemon(), "/no/such/archive").error().fault, ImageFault::missing);
  std::ofstream(folder_ / "text") << "no archive";
  EXPECT_EQ(load_image(daemon(), folder_ / "text").error().fault, ImageFault::corrupt);
}

TEST_F(DockerImages, ASlotForAMissingImageIsNotOpened) {
  plan_.name = "nosuch:1";
  setup_.container = std::make_shared<const ContainerPlan>(plan_);
  const Result<std::unique_ptr<Slot>> opened = runner().open_slot(setup_);
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::not_found);
  EXPECT_EQ(opened.error().message, "Docker has no image nosuch:1");
}

TEST(DockerImageName, IsTakenApart) {
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(name_and_tag("tool"), Parts("tool", "latest"));
  EXPECT_EQ(name_and_tag("tool:1.2"), Parts("tool", "1.2"));
  EXPECT_EQ(name_and_tag("host:5000/team/tool"), Parts("host:5000/team/tool", "latest"));
  EXPECT_EQ(name_and_tag("host:5000/team/tool:1"), Parts("host:5000/team/tool", "1"));
  EXPECT_EQ(name_and_tag("host:5000/tool@sha256:ab"), Parts("host:5000/tool", "sha256:ab"));
  EXPECT_EQ(name_and_tag("tool:1@sha256:ab"), Parts("tool", "sha256:ab"));
}

}  // namespace
}  // namespace drover
