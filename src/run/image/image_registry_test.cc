// Images from a real registry, and from ones that want a login, hang, lie, break off, or are not there.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "run/image/child_program.h"
#include "run/image/image_fixture.h"

namespace drover {
namespace {

/// One for all tests: it starts once.
ImageServer& registry() {
  static ImageServer server({"registry"});
  static const bool filled = [] {
    for (const char* name : {"plain-gzip", "plain-zstd", "shared-base", "other-architecture"}) {
      server.tell(concat("oci:", catalogue(), "/", name, ":latest test/", name, ":latest"));
    }
    server.tell(concat("docker-archive:", catalogue(), "/plain.tar test/docker:1.0 --format=v2s2"));
    for (const char* name : {"index", "index-other"})
      server.tell(concat("oci:", catalogue(), "/", name, ":latest test/", name, ":latest --all"));
    return true;
  }();
  (void)filled;
  return server;
}

class FromRegistry : public ImageStoreTest {
 protected:
  std::string name(const std::string& image) { return concat(registry().host(), "/test/", image); }
  void expect_fault(const ImageResult<std::shared_ptr<const Image>>& image, ImageFault fault, std::string_view says,
                    Blame blame) {
    ASSERT_FALSE(image);
    EXPECT_EQ(to_string(image.error().fault), to_string(fault)) << image.error().sentence();
    EXPECT_EQ(image.error().blame, blame);
    EXPECT_NE(image.error().message.find(says), std::string::npos) << image.error().sentence();
    EXPECT_TRUE(image.error().message.starts_with("image ")) << image.error().sentence();
    EXPECT_FALSE(image.error().next.empty()) << image.error().sentence();
    EXPECT_TRUE(fs::is_empty(path() + "/images"));
  }
};

TEST_F(FromRegistry, AnImageIsFetchedAndUnpacked) {
  std::vector<ImageProgress> said;
  auto image = store().fetch(reference(name("plain-gzip")), {}, [&](const ImageProgress& now) { said.push_back(now); });
  ASSERT_TRUE(image) << image.error().sentence();
  ASSERT_EQ((*image)->layers.size(), 2U);
  EXPECT_EQ(content(fs::path((*image)->layers[0]) / "hello"), "hello from the image\n");
  EXPECT_TRUE(is_there(fs::path((*image)->layers[1]) / "bin/busybox"));
  const ImageConfig& config = (*image)->config;
  EXPECT_EQ(config.entrypoint, (std::vector<std::string>{"/bin/sh", "-c"}));
  EXPECT_EQ(config.command, std::vector<std::string>{"cat /hello"});
  EXPECT_EQ(config.environment, (std::vector<std::string>{"PATH=/bin", "GREETING=hello there"}));
  EXPECT_EQ(config.user, "user:user");
  EXPECT_EQ(config.working_folder, "/tmp");
  EXPECT_EQ(config.exposed_ports, std::vector<std::string>{"80/tcp"});
  EXPECT_EQ(config.labels.at("made.by"), "a test");
  EXPECT_EQ(config.stop_signal, "SIGINT");
  EXPECT_EQ(config.platform.architecture, this_platform().architecture);
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.front().phase, ImagePhase::resolving);
  EXPECT_EQ(said.back().phase, ImagePhase::unpacking);
  EXPECT_EQ(said.back().layer, 2U);
  EXPECT_EQ(said.back().layers, 2U);
  EXPECT_EQ(said.back().bytes_done, said.back().bytes_total);
  EXPECT_GT(said.back().bytes_total, 100'000U);
}

/// What a command says that sees the image's layers stacked, as `at`.
ChildEnd in_overlay(const Image& image, const std::string& at, const std::string& command) {
  fs::create_directory(at);
  std::string folders;
  for (const std::string& layer : image.layers) folders += concat(folders.empty() ? "" : ":", layer);
  return run_child({{"unshare", "-m", "--propagation", "private", "sh", "-c",
                     concat("mount -t overlay overlay -o ro,lowerdir=", folders, " ", at, " && ", command)},
                    {},
                    {}},
                   {});
}

TEST_F(FromRegistry, OverlayStacksItAsTheImageMeans) {
  auto image = fetch(name("plain-gzip"));
  ASSERT_TRUE(image) << image.error().sentence();
  const std::string at = folder_.path() + "/merged";
  const ChildEnd end = in_overlay(
      **image, at,
      concat("cat ", at, "/hello && ls ", at, "/etc ", at, "/etc/old && chroot ", at, " /bin/sh -c 'echo it runs'"));
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.out,
            concat("hello from the image\n", at, "/etc:\ngroup\nold\npasswd\n\n", at, "/etc/old:\nnew\nit runs\n"));
}

TEST_F(FromRegistry, TheSameLayerTwiceIsStackedOnce) {
  auto image = fetch_layout("same-layer");
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ((*image)->layers.size(), 3U);
  const std::string at = folder_.path() + "/merged";
  const ChildEnd end = in_overlay(**image, at, concat("cat ", at, "/hello"));
  EXPECT_EQ(end.err, "");
  EXPECT_EQ(end.out, "hello from the image\n") << "the uppermost of them counts";
}

TEST_F(FromRegistry, DockersOwnFormatKeepsItsDigest) {
  auto resolved = resolve(reference(name("docker:1.0")), {}, {});
  ASSERT_TRUE(resolved) << resolved.error().sentence();
  auto image = store().fetch(resolved->pinned, {});
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ((*image)->digest, resolved->digest);
  EXPECT_EQ(content(fs::path((*image)->layers[0]) / "hello"), "hello from the image\n");
  EXPECT_EQ((*image)->config.user, "user:user");
}

TEST_F(FromRegistry, ZstdToo) {
  auto image = fetch(name("plain-zstd"));
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ(content(fs::path((*image)->layers[0]) / "hello"), "hello from the image\n");
}

TEST_F(FromRegistry, ATagIsResolvedOnce) {
  auto resolved = resolve(reference(name("index")), {}, {});
  ASSERT_TRUE(resolved) << resolved.error().sentence();
  // The index is what is pinned, so that machines of other kinds find theirs.
  EXPECT_EQ(resolved->pinned.digest, resolved->digest);
  EXPECT_NE(resolved->manifest_digest, resolved->digest);
  EXPECT_EQ(resolved->platforms.size(), 2U);
  EXPECT_FALSE(store().ready(resolved->pinned));
  auto image = store().fetch(resolved->pinned, {});
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ((*image)->digest, resolved->manifest_digest);
  auto again = store().ready(resolved->pinned);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->layers, (*image)->layers);
  EXPECT_TRUE(store().ready(reference(name("index@" + resolved->manifest_digest))));
  EXPECT_FALSE(store().ready(reference(name("index")))) << "a tag is asked for again";
}

TEST_F(FromRegistry, LayersThatAreThereAreNotFetchedAgain) {
  ImageServer proxy({"proxy", "pass", registry().host()});
  const std::string host = proxy.host() + "/test/";
  ASSERT_TRUE(fetch(host + "plain-gzip"));
  EXPECT_EQ(std::ranges::count(proxy.tell("blobs"), ' '), 3);  // its configuration twice, and two layers
  auto image = fetch(host + "shared-base");
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ((*image)->layers.size(), 3U);
  EXPECT_EQ(std::ranges::count(proxy.tell("blobs"), ' '), 6);  // the configuration twice, and the third layer
  ASSERT_TRUE(fetch(host + "shared-base"));
  EXPECT_EQ(std::ranges::count(proxy.tell("blobs"), ' '), 6);
}

TEST_F(FromRegistry, ManyWhoWantItFetchItOnce) {
  ImageServer proxy({"proxy", "pass", registry().host()});
  auto resolved = resolve(reference(proxy.host() + "/test/plain-gzip"), {}, {});
  ASSERT_TRUE(resolved) << resolved.error().sentence();
  std::vector<std::thread> threads;
  threads.reserve(6);
  std::atomic<int> ready = 0;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      // Half of them with a store object of their own, as other processes have.
      std::unique_ptr<ImageStore> own;
      if (i % 2 == 0) own = std::move(*ImageStore::open(path(), {}));
      if (auto image = (own ? *own : store()).fetch(resolved->pinned, {}); image && (*image)->layers.size() == 2)
        ++ready;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ready, 6);
  EXPECT_EQ(std::ranges::count(proxy.tell("blobs"), ' '), 3);
}

TEST_F(FromRegistry, WhatIsNotThereIsMissing) {
  expect_fault(fetch(name("nothing")), ImageFault::missing, "image not found", Blame::user);
  expect_fault(fetch(name("plain-gzip:nothing")), ImageFault::missing, "image not found", Blame::user);
  expect_fault(fetch(name("plain-gzip@sha256:" + std::string(64, '0'))), ImageFault::missing, "image not found",
               Blame::user);
}

TEST_F(FromRegistry, AnotherArchitectureIsNamed) {
  expect_fault(fetch(name("other-architecture")), ImageFault::wrong_architecture,
               concat("but this machine is ", this_platform().text()), Blame::user);
  expect_fault(fetch(name("index-other")), ImageFault::wrong_architecture, "only for linux/", Blame::user);
  auto resolved = resolve(reference(name("index-other")), {}, {});
  ASSERT_TRUE(resolved) << "another machine may run it";
  EXPECT_TRUE(resolved->manifest_digest.empty());
}

TEST_F(FromRegistry, NobodyAnswers) {
  // A port that was just free.
  expect_fault(fetch("127.0.0.1:1/x"), ImageFault::unreachable, "127.0.0.1:1 is unreachable", Blame::nobody);
  expect_fault(fetch("registry.invalid/x"), ImageFault::unreachable, "registry.invalid is unreachable", Blame::nobody);
}

TEST_F(FromRegistry, ALoginIsWantedAndTaken) {
  ImageServer locked({"registry", "login"});
  ASSERT_EQ(locked.tell(concat("oci:", catalogue(), "/plain-gzip:latest x:latest --dest-creds=shepherd:sesame")),
            "pushed");
  const std::string image = locked.host() + "/x";
  const auto auth = [&](std::string_view name, std::string_view token) {
    const std::string file = concat(folder_.path(), "/", name);
    std::ofstream(file) << R"({"auths":{")" << locked.host() << R"(":{"auth":")" << token << R"("}}})";
    return ImageAccess{.auth_file = file};
  };
  const ImageAccess none{.auth_file = folder_.path() + "/none.json"};
  std::ofstream(none.auth_file) << "{}";
  expect_fault(fetch(image, none), ImageFault::unauthorized, "requires a login", Blame::user);
  expect_fault(fetch(image, auth("wrong.json", "c2hlcGhlcmQ6d3Jvbmc=")), ImageFault::unauthorized, "requires a login",
               Blame::user);
  auto fetched = fetch(image, auth("right.json", "c2hlcGhlcmQ6c2VzYW1l"));
  ASSERT_TRUE(fetched) << fetched.error().sentence();
}

TEST_F(FromRegistry, ARegistryThatHangsIsGivenUp) {
  open({.stall_ms = 700});
  ImageServer hang({"proxy", "hang", registry().host()});
  expect_fault(fetch(hang.host() + "/test/plain-gzip"), ImageFault::timed_out, "sent nothing for 700", Blame::nobody);
}

TEST_F(FromRegistry, OneThatHangsInTheMiddleToo) {
  open({.stall_ms = 1500});
  ImageServer hang({"proxy", "hang-blobs", registry().host()});
  expect_fault(fetch(hang.host() + "/test/plain-gzip"), ImageFault::timed_out, "sent nothing for", Blame::nobody);
}

TEST_F(FromRegistry, ABlobThatIsNotWhatItsDigestSays) {
  ImageServer corrupt({"proxy", "corrupt", registry().host()});
  expect_fault(fetch(corrupt.host() + "/test/plain-gzip"), ImageFault::bad_digest,
               "the received data does not match its digest", Blame::nobody);
}

TEST_F(FromRegistry, OneThatNeverStopsIsStopped) {
  ImageServer endless({"proxy", "endless", registry().host()});
  expect_fault(fetch(endless.host() + "/test/plain-gzip"), ImageFault::too_large,
               "sends more data than the image's manifest declares", Blame::user);
}

TEST_F(FromRegistry, OneThatBreaksOffOrIsBusy) {
  ImageServer broken({"proxy", "break", registry().host()});
  expect_fault(fetch(broken.host() + "/test/plain-gzip"), ImageFault::unreachable, "is unreachable", Blame::nobody);
  ImageServer busy({"proxy", "busy", registry().host()});
  expect_fault(fetch(busy.host() + "/test/plain-gzip"), ImageFault::unreachable, "is unreachable", Blame::nobody);
}

TEST_F(FromRegistry, WhoeverCancelsWaitsNoLonger) {
  ImageServer hang({"proxy", "hang-blobs", registry().host()});
  std::stop_source stop;
  const auto begin = std::chrono::steady_clock::now();
  auto image = store().fetch(
      reference(hang.host() + "/test/plain-gzip"), {},
      [&](const ImageProgress& now) {
        if (now.phase == ImagePhase::fetching && now.bytes_done > 0) stop.request_stop();
      },
      stop.get_token());
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::cancelled) << image.error().sentence();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

/// A fetch in a thread of its own, that has begun when this is made.
class Background {
 public:
  Background(ImageStore& store, const std::string& image, ImagePhase until) {
    thread_ = std::thread([this, &store, image, until] {
      result_ = store.fetch(
          reference(image), {},
          [&](const ImageProgress& now) {
            if (now.phase != until || (until == ImagePhase::fetching && now.bytes_done == 0)) return;
            begun_ = true;
            begun_.notify_all();
          },
          stop_.get_token());
      begun_ = true;
      begun_.notify_all();
    });
    begun_.wait(false);
  }
  ~Background() {
    stop_.request_stop();
    if (thread_.joinable()) thread_.join();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  const ImageResult<std::shared_ptr<const Image>>& result() {
    if (thread_.joinable()) thread_.join();
    return result_;
  }

 private:
  std::stop_source stop_;
  std::atomic<bool> begun_ = false;
  ImageResult<std::shared_ptr<const Image>> result_;
  std::thread thread_;
};

TEST_F(FromRegistry, OneThatHangsHoldsUpNoOtherThatHasTheSameLayers) {
  open({});
  ImageServer hang({"proxy", "hang-blobs", registry().host()});
  const std::string digest = resolve(reference(name("plain-gzip")), {}, {})->digest;
  const Background hung(store(), concat(hang.host(), "/test/plain-gzip@", digest), ImagePhase::fetching);
  const auto begin = std::chrono::steady_clock::now();
  auto same_layers = fetch(name("shared-base"));
  ASSERT_TRUE(same_layers) << same_layers.error().sentence();
  auto same = fetch(concat(name("plain-gzip@"), digest));
  ASSERT_TRUE(same) << same.error().sentence();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

TEST_F(FromRegistry, ALayerOfTwoImagesIsFetchedOnceAlsoAtTheSameTime) {
  ImageServer proxy({"proxy", "slow", registry().host()});
  Background one(store(), proxy.host() + "/test/plain-gzip", ImagePhase::fetching);
  Background two(store(), proxy.host() + "/test/shared-base", ImagePhase::waiting);
  proxy.tell("go");
  ASSERT_TRUE(one.result()) << one.result().error().sentence();
  ASSERT_TRUE(two.result()) << two.result().error().sentence();
  EXPECT_EQ(std::ranges::count(proxy.tell("blobs"), ' '), 6);  // each configuration twice, and three layers
}

TEST_F(FromRegistry, WithoutSkopeoItIsSaid) {
  expect_fault(fetch(name("plain-gzip"), {.skopeo = "skopeo-that-is-not-there"}), ImageFault::unsupported,
               "skopeo, which fetches images, cannot be started", Blame::machine);
}

}  // namespace
}  // namespace drover
