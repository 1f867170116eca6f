// The store by itself: images that lie on this machine, many who share it, what is removed and what stays.
#include "run/image/image_store.h"

#include <signal.h>
#include <sys/mount.h>

#include <cstring>
#include <set>
#include <thread>

#include "run/image/content_digest.h"
#include "run/image/image_fixture.h"

namespace drover {
namespace {

using Store = ImageStoreTest;

constexpr std::int64_t kHourMs = 3'600'000;

/// As though it had last been used so long ago.
void age(const std::string& store, const std::string& digest, std::int64_t by_ms) {
  const std::string file = concat(store, "/images/", digest_digits(digest), "/used");
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::milliseconds(by_ms));
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

TEST_F(Store, ALayoutIsReadWhereItLies) {
  auto image = fetch_layout("plain-gzip");
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ((*image)->layers.size(), 2U);
  EXPECT_TRUE(store().ready(reference(concat("oci:", catalogue(), "/plain-gzip@", (*image)->digest))));
  EXPECT_TRUE(fetch(concat("oci:", catalogue(), "/plain-gzip:latest")));
  auto none = fetch(concat("oci:", catalogue(), "/plain-gzip:other"));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().fault, ImageFault::missing);
  EXPECT_EQ(none.error().next, "it has: latest");
  EXPECT_EQ(fault_of("not-there"), "missing");
  EXPECT_EQ(fault_of("."), "missing") << "a folder that is no layout";
  EXPECT_EQ(fault_of("no-image"), "unsupported");
}

TEST_F(Store, AnArchiveOfDockerSave) {
  const std::string archive = concat("docker-archive:", catalogue(), "/plain.tar");
  auto image = fetch(archive);
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ(content(fs::path((*image)->layers[0]) / "hello"), "hello from the image\n");
  EXPECT_EQ((*image)->config.user, "user:user");
  auto named = fetch(archive + ":drover.test/image:latest");
  ASSERT_TRUE(named) << named.error().sentence();
  EXPECT_EQ((*named)->digest, (*image)->digest);
  auto resolved = resolve(reference(archive), {}, {});
  ASSERT_TRUE(resolved) << resolved.error().sentence();
  EXPECT_EQ(resolved->digest, (*image)->digest);
  EXPECT_TRUE(store().ready(resolved->pinned));

  auto other = fetch(archive + ":drover.test/other:latest");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().fault, ImageFault::missing) << other.error().sentence();
  auto missing = fetch("docker-archive:/not/there.tar");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, ImageFault::missing) << missing.error().sentence();
  EXPECT_EQ(missing.error().blame, Blame::user);
  fs::resize_file((std::ofstream(folder_.path() + "/cut.tar", std::ios::binary) << content(catalogue() + "/plain.tar"),
                   folder_.path() + "/cut.tar"),
                  100'000);
  auto cut = fetch(concat("docker-archive:", folder_.path(), "/cut.tar"));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().fault, ImageFault::corrupt) << cut.error().sentence();
}

TEST_F(Store, OfAnArchiveWithSeveralImagesOneIsNamed) {
  const std::string archive = concat("docker-archive:", catalogue(), "/two.tar");
  auto several = fetch(archive);
  ASSERT_FALSE(several);
  EXPECT_EQ(several.error().fault, ImageFault::missing);
  EXPECT_EQ(several.error().message, concat("image ", archive, ": the archive contains several images"));
  EXPECT_EQ(several.error().next,
            "name one of them, as in docker-archive:PATH:NAME:TAG: drover.test/image:1, drover.test/image:2");
  auto one = fetch(archive + ":drover.test/image:1");
  ASSERT_TRUE(one) << one.error().sentence();
  EXPECT_EQ((*one)->layers.size(), 2U);
}

TEST_F(Store, OfALayoutWithWholeNamesOneIsNamedByItOrByItsTag) {
  const std::string layout = concat("oci:", catalogue(), "/whole-name");
  for (const char* name : {":docker.io/library/x:1.0", ":1.0", ":docker.io/library/x:2.0"}) {
    auto image = fetch(layout + name);
    EXPECT_TRUE(image) << image.error().sentence();
  }
  auto other = fetch(layout + ":docker.io/library/y:1.0");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().fault, ImageFault::missing) << other.error().sentence();
  EXPECT_EQ(other.error().next, "it has: docker.io/library/x:1.0, docker.io/library/x:2.0");
}

TEST_F(Store, IndexesAsHardlyAnybodyWritesThem) {
  for (const char* name : {"beside-attestation", "index-without-platform", "index-without-platform-nested"})
    EXPECT_EQ(fault_of(name), "ready") << name;
  for (const char* name : {"index-empty", "index-attestation", "index-empty-nested"}) {
    auto none = fetch_layout(name);
    ASSERT_FALSE(none) << name;
    EXPECT_EQ(none.error().fault, ImageFault::missing) << none.error().sentence();
    EXPECT_TRUE(none.error().message.ends_with(": its index lists no image")) << none.error().sentence();
  }
}

TEST_F(Store, ALayoutThatChangedIsNotTheOneThatWasSubmitted) {
  auto image = store().fetch(reference(concat("oci:", catalogue(), "/plain-gzip@sha256:", std::string(64, '1'))), {});
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::bad_digest) << image.error().sentence();
  EXPECT_EQ(image.error().blame, Blame::user);
  EXPECT_TRUE(image.error().message.find("it has changed: it no longer contains sha256:1111") != std::string::npos)
      << image.error().sentence();
  EXPECT_EQ(image.error().next, "submit the job again to use the current image");
}

TEST_F(Store, AnArchiveThatChangedIsNotTheOneThatWasSubmitted) {
  const std::string file = folder_.path() + "/image.tar";
  fs::copy_file(catalogue() + "/plain.tar", file);
  auto pinned = reference(concat("docker-archive:", file, "@sha256:", std::string(64, '1')));
  auto image = store().fetch(pinned, {});
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::bad_digest) << image.error().sentence();
  EXPECT_EQ(image.error().blame, Blame::user);
  EXPECT_EQ(image.error().next, "submit the job again to use the current image");
}

TEST_F(Store, ARootFolderIsItsOwnImage) {
  const std::string root = folder_.path() + "/root";
  fs::create_directory(root);
  fs::create_directory_symlink(root, folder_.path() + "/link");
  auto image = fetch(concat("rootfs:", folder_.path(), "/link"));
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ((*image)->layers, std::vector<std::string>{fs::canonical(root)});
  EXPECT_TRUE((*image)->config.command.empty());
  auto resolved = resolve(reference(concat("rootfs:", folder_.path(), "/link")), {}, {});
  ASSERT_TRUE(resolved);
  EXPECT_EQ(resolved->pinned.path, fs::canonical(root));
  auto missing = fetch("rootfs:/not/there");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, ImageFault::missing);
  auto file = fetch(concat("rootfs:", catalogue(), "/plain.tar"));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().fault, ImageFault::unsupported);
}

/// Which Docker is meant, as its own client is told.
class DockerHost {
 public:
  explicit DockerHost(const std::string& address) { ::setenv("DOCKER_HOST", address.c_str(), 1); }
  ~DockerHost() { ::unsetenv("DOCKER_HOST"); }
  DockerHost(const DockerHost&) = delete;
  DockerHost& operator=(const DockerHost&) = delete;
};

TEST_F(Store, ADaemonGivesWhatItHas) {
  ImageServer docker({"docker"});
  ASSERT_EQ(docker.tell(concat("load ", catalogue(), "/plain.tar")), "loaded");
  const DockerHost host(docker.host());
  auto resolved = resolve(reference("docker-daemon:drover.test/image"), {}, {});
  ASSERT_TRUE(resolved) << resolved.error().sentence();
  EXPECT_FALSE(store().ready(resolved->pinned));
  auto image = store().fetch(resolved->pinned, {});
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_EQ(content(fs::path((*image)->layers[0]) / "hello"), "hello from the image\n");
  EXPECT_EQ((*image)->config.command, std::vector<std::string>{"cat /hello"});
  EXPECT_TRUE(store().ready(resolved->pinned));
  auto missing = fetch("docker-daemon:drover.test/other");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, ImageFault::missing) << missing.error().sentence();
}

TEST_F(Store, WithoutADaemonItIsSaid) {
  const DockerHost host(concat("unix://", folder_.path(), "/no.sock"));
  auto image = fetch("docker-daemon:busybox:latest");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::unreachable) << image.error().sentence();
  EXPECT_EQ(image.error().blame, Blame::machine);
  EXPECT_NE(image.error().message.find("the Docker daemon is unreachable"), std::string::npos)
      << image.error().sentence();
  EXPECT_NE(image.error().message.find(folder_.path()), std::string::npos) << image.error().sentence();
}

TEST_F(Store, ListsWhatItHas) {
  auto plain = fetch_layout("plain-gzip");
  auto shared = fetch_layout("shared-base");
  ASSERT_TRUE(plain && shared);
  const std::string first = (*plain)->digest;
  age(path(), first, kHourMs);
  plain = std::unexpected(ImageError{});
  const auto list = store().list();
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0].digest, (*shared)->digest);
  EXPECT_TRUE(list[0].in_use);
  EXPECT_EQ(list[0].layers, 3U);
  EXPECT_EQ(list[0].names, std::vector<std::string>{concat("oci:", catalogue(), "/shared-base")});
  EXPECT_EQ(list[1].digest, first);
  EXPECT_FALSE(list[1].in_use);
  EXPECT_EQ(list[1].own_bytes, 0U) << "the other one has all its layers as well";
  EXPECT_GT(list[1].bytes, fs::file_size("/bin/busybox"));
  EXPECT_EQ(list[0].bytes - list[0].own_bytes, list[1].bytes);
}

TEST_F(Store, WhatIsUsedStaysWhatIsOldGoes) {
  auto held = fetch_layout("plain-gzip");
  ASSERT_TRUE(held && fetch_layout("shared-base") && fetch_layout("hostile-setuid"));
  for (const StoredImage& image : store().list()) age(path(), image.digest, 2 * kHourMs);
  ASSERT_TRUE(fetch_layout("hostile-setuid"));  // used again
  auto report = store().prune({.unused_for_ms = kHourMs, .now_ms = now_ms()});
  ASSERT_TRUE(report) << report.error().sentence();
  ASSERT_EQ(report->removed.size(), 1U);
  EXPECT_EQ(report->removed[0].layers, 3U);
  EXPECT_EQ(report->in_use, 1U);
  EXPECT_EQ(report->freed_bytes, report->removed[0].own_bytes);
  for (const std::string& layer : (*held)->layers) EXPECT_TRUE(is_there(layer));
  EXPECT_EQ(store().list().size(), 2U);
  EXPECT_EQ(content(fs::path((*held)->layers[0]) / "hello"), "hello from the image\n");
}

TEST_F(Store, TheLongestUnusedGoFirst) {
  const std::vector<std::string> names = {"hostile-setuid", "hostile-absolute", "hostile-twice"};
  std::vector<std::string> digests;
  digests.reserve(names.size());
  for (const std::string& name : names) digests.push_back((*fetch_layout(name))->digest);
  age(path(), digests[1], 3 * kHourMs);
  age(path(), digests[0], 2 * kHourMs);
  const auto list = store().list();
  auto report = store().prune({.most_bytes = list[0].bytes + list[1].bytes});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->removed.size(), 1U);
  EXPECT_EQ(report->removed[0].digest, digests[1]);
  EXPECT_EQ(report->kept_bytes, list[0].bytes + list[1].bytes);
  report = store().prune({.most_bytes = 0});
  EXPECT_EQ(report->removed.size(), 2U);
  EXPECT_EQ(report->kept_bytes, 0U);
  EXPECT_TRUE(fs::is_empty(path() + "/layers/sha256"));
}

TEST_F(Store, AFetchKeepsTheStoreWithinItsLimit) {
  open({.store_bytes = 100'000});
  ASSERT_TRUE(fetch_layout("hostile-setuid"));
  ASSERT_TRUE(fetch_layout("plain-gzip"));
  ASSERT_TRUE(fetch_layout("hostile-twice"));
  const auto list = store().list();
  ASSERT_EQ(list.size(), 1U) << "the small one was the longest unused, the large one too large";
  EXPECT_TRUE(list[0].names[0].ends_with("hostile-twice"));
}

TEST_F(Store, WhatIsOldGoesWhenTheStoreIsTidied) {
  open({.unused_for_ms = kHourMs});
  const std::string old = (*fetch_layout("hostile-setuid"))->digest;
  ASSERT_TRUE(fetch_layout("hostile-twice")) << "which is young";
  auto held = fetch_layout("hostile-absolute");
  age(path(), old, 2 * kHourMs);
  age(path(), (*held)->digest, 2 * kHourMs);
  auto report = store().tidy();
  ASSERT_TRUE(report) << report.error().sentence();
  ASSERT_EQ(report->removed.size(), 1U);
  EXPECT_EQ(report->removed[0].digest, old);
  // It was used until a moment ago, though nobody asked for it since.
  held = std::unexpected(ImageError{});
  report = store().tidy();
  ASSERT_TRUE(report) << report.error().sentence();
  EXPECT_TRUE(report->removed.empty());
  EXPECT_EQ(store().list().size(), 2U);
}

TEST_F(Store, PruningAndFetchingDoNotHurtEachOther) {
  std::atomic<bool> done = false;
  std::thread pruner([&] {
    const auto own = ImageStore::open(path(), {});
    while (!done) (void)(*own)->prune({.most_bytes = 0});
  });
  for (int i = 0; i < 10; ++i) {
    for (const char* name : {"hostile-setuid", "hostile-twice"}) {
      auto image = fetch_layout(name);
      ASSERT_TRUE(image) << image.error().sentence();
      for (const std::string& layer : (*image)->layers) EXPECT_FALSE(fs::is_empty(layer));
    }
  }
  done = true;
  pruner.join();
}

TEST_F(Store, ALayerThatSomebodyDeletedComesBack) {
  auto image = fetch_layout("hostile-setuid");
  ASSERT_TRUE(image);
  const ImageReference pinned = (*image)->reference.pinned((*image)->digest);
  remove_tree(fs::path((*image)->layers[0]).parent_path());
  image = std::unexpected(ImageError{});
  EXPECT_FALSE(store().ready(pinned));
  image = store().fetch(pinned, {});
  ASSERT_TRUE(image) << image.error().sentence();
  EXPECT_TRUE(is_there(fs::path((*image)->layers[0]) / "su"));
}

TEST_F(Store, ADamagedRecordIsMadeAnew) {
  const std::string digest = (*fetch_layout("plain-gzip"))->digest;
  const ImageReference pinned = reference(concat("oci:", catalogue(), "/plain-gzip@", digest));
  const std::string record = concat(path(), "/images/", digest.substr(7));
  for (const char* name : {"manifest.json", "config.json"}) {
    for (const std::string& text : {std::string(), std::string("{"), content(catalogue() + "/plain-gzip/index.json")}) {
      auto user = store().ready(pinned);
      ASSERT_TRUE(user);
      std::ofstream(concat(record, "/", name), std::ios::binary) << text;
      EXPECT_FALSE(store().ready(pinned)) << name << ": " << text;
      auto image = store().fetch(pinned, {});
      ASSERT_TRUE(image) << image.error().sentence();
      image = std::unexpected(ImageError{});
      EXPECT_TRUE(store().list().at(0).in_use) << "whoever had it before has it still";
      EXPECT_FALSE(store().list().at(0).names.empty()) << "and its name is known";
    }
  }
  fs::remove(record + "/used");
  ASSERT_TRUE(store().fetch(pinned, {}));
  EXPECT_TRUE(is_there(record + "/used"));
}

TEST_F(Store, ADamagedRecordCanBePruned) {
  const std::string digest = (*fetch_layout("hostile-setuid"))->digest;
  fs::remove(concat(path(), "/images/", digest.substr(7), "/used"));
  auto report = store().prune({.most_bytes = 0});
  ASSERT_TRUE(report) << report.error().sentence();
  EXPECT_EQ(report->removed.size(), 1U);
  EXPECT_TRUE(fs::is_empty(path() + "/images"));
}

TEST_F(Store, AFullDiskIsTheMachines) {
  const std::string small = folder_.path() + "/small";
  fs::create_directory(small);
  ASSERT_EQ(::mount("tmpfs", small.c_str(), "tmpfs", 0, "size=1m"), 0) << std::strerror(errno);
  {
    auto full = ImageStore::open(small + "/store", {});
    ASSERT_TRUE(full) << full.error().sentence();
    // By what the manifest says, before anything is fetched; and by what comes out of it, when that is more.
    for (const char* name : {"plain-tar", "bomb"}) {
      auto image = (*full)->fetch(reference(concat("oci:", catalogue(), "/", name)), {});
      ASSERT_FALSE(image);
      EXPECT_EQ(image.error().fault, ImageFault::no_space) << image.error().sentence();
      EXPECT_EQ(image.error().blame, Blame::machine);
      EXPECT_TRUE(fs::is_empty(small + "/store/layers/sha256"));
      EXPECT_TRUE(fs::is_empty(small + "/store/work"));
    }
  }
  EXPECT_EQ(::umount(small.c_str()), 0);
}

/// The names of what is in a store, without their folders, in order.
std::set<std::string> names_in_store(const ImageStore& store) {
  std::set<std::string> out;
  for (const StoredImage& image : store.list()) out.insert(fs::path(image.names.at(0)).filename());
  return out;
}

TEST_F(Store, OnAFullDiskWhatNobodyUsesMakesRoom) {
  const std::string small = folder_.path() + "/small";
  fs::create_directory(small);
  const auto bring = [&](ImageStore& store, const char* name) {
    return store.fetch(reference(concat("oci:", catalogue(), "/", name)), {});
  };
  // Once by what the manifest says, once by what comes out of it, which is far more.
  for (const auto& [size, name] : {std::pair("size=4m", "plain-tar"), std::pair("size=130m", "bomb")}) {
    ASSERT_EQ(::mount("tmpfs", small.c_str(), "tmpfs", 0, size), 0) << std::strerror(errno);
    {
      auto opened = ImageStore::open(small + "/store", {});
      ASSERT_TRUE(opened) << opened.error().sentence();
      ImageStore& store = **opened;
      ASSERT_TRUE(bring(store, "plain-gzip"));
      auto held = bring(store, "hostile-setuid");
      ASSERT_TRUE(held);
      std::ofstream(small + "/else") << std::string(1 << 20, 'x');
      auto image = bring(store, name);
      ASSERT_TRUE(image) << image.error().sentence();
      EXPECT_EQ(names_in_store(store), (std::set<std::string>{"hostile-setuid", name}));
      EXPECT_TRUE(is_there(fs::path((*held)->layers[0]) / "su"));
      EXPECT_TRUE(fs::is_empty(small + "/store/work"));
    }
    ASSERT_EQ(::umount(small.c_str()), 0);
  }
}

TEST_F(Store, RoomIsMadeOnlyAsFarAsNeeded) {
  std::vector<std::string> digests;
  for (const char* name : {"hostile-setuid", "hostile-absolute", "hostile-twice"}) {
    digests.push_back((*fetch_layout(name))->digest);
  }
  for (std::size_t i = 0; i < digests.size(); ++i) {
    age(path(), digests[i], static_cast<std::int64_t>(digests.size() - i) * kHourMs);
  }
  auto report = store().prune({.free_bytes = 0});
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->removed.empty());
  report = store().prune({.free_bytes = fs::space(path()).available + 1});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->removed.size(), 1U);
  EXPECT_EQ(report->removed[0].digest, digests[0]);
}

/// Whether a process has this text in its command line.
bool runs(const std::string& text) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    if (content(entry.path() / "cmdline").find(text) != std::string::npos) return true;
  }
  return false;
}

TEST_F(Store, AKilledProcessLeavesNothingThatMatters) {
  ImageServer hang({"proxy", "hang", "127.0.0.1:1"});
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto own = ImageStore::open(path(), {});
    (void)(*own)->fetch(reference(hang.host() + "/x"), {});
    ::_exit(0);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!runs(hang.host() + "/x") && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(runs(hang.host() + "/x"));
  // While it works, nobody cleans up after it.
  ASSERT_TRUE(store().prune({}));
  EXPECT_FALSE(fs::is_empty(path() + "/work"));
  ::kill(pid, SIGKILL);
  int status = 0;
  ::waitpid(pid, &status, 0);
  while (runs(hang.host() + "/x") && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(runs(hang.host() + "/x")) << "skopeo goes with whoever started it";
  open({});
  EXPECT_TRUE(fs::is_empty(path() + "/work"));
}

TEST_F(Store, OnlyItsOwnerEnters) {
  EXPECT_EQ(status_of(path()).st_mode & 077, 0U);
}

}  // namespace
}  // namespace drover
