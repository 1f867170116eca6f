#include "runtime/prepare_container.h"

#include "accel/driver_root_fixture.h"
#include "accel/ld_cache.h"
#include "runtime/bundle.h"

namespace drover {
namespace {

using HookWords = std::vector<const char*>;

Result<void> prepared(const std::string& path, const Preparation& what, std::vector<std::string>& notices) {
  auto root = RootFolder::open(path);
  EXPECT_TRUE(root.has_value());
  return prepare_container(*root, what, notices);
}

const Preparation kCuda = {
    .links = {{"/usr/lib/x/libcuda.so.1", "libcuda.so.535"}, {"/usr/lib/x/libcuda.so", "libcuda.so.1"}},
    .libraries = {"/usr/lib/x/libcuda.so.1", "/usr/lib/x/libcuda.so"}};

TEST(PrepareContainer, LibrariesAreKnownToTheLinker) {
  const FolderFixture root;
  root.write("usr/lib/x/libcuda.so.535", tiny_library("libcuda.so.1"));
  std::vector<std::string> notices;
  ASSERT_TRUE(prepared(root.path(), kCuda, notices).has_value());
  EXPECT_TRUE(notices.empty());
  EXPECT_EQ(std::filesystem::read_symlink(root / "usr/lib/x/libcuda.so"), "libcuda.so.1");
  const auto cache = read_ld_cache(root.read("etc/ld.so.cache"));
  ASSERT_TRUE(cache.has_value());
  ASSERT_EQ(cache->entries.size(), 2u);
  EXPECT_EQ(cache->entries[0], (LdCache::Entry{0x303, "libcuda.so.1", "/usr/lib/x/libcuda.so.1", 0, 0}));
  EXPECT_EQ(root.read("etc/ld.so.conf.d/00-drover.conf"), "/usr/lib/x\n");
  EXPECT_EQ(root.read("etc/ld.so.conf"), "include /etc/ld.so.conf.d/*.conf\n");
}

TEST(PrepareContainer, WhatTheImageKnowsStays) {
  const FolderFixture root;
  root.write("usr/lib/x/libcuda.so.535", tiny_library("libcuda.so.1"));
  root.write("etc/ld.so.conf", "mine\n");
  root.write(
      "etc/ld.so.cache",
      write_ld_cache({{{0x303, "libc.so.6", "/lib/libc.so.6", 0, 0}, {0x303, "libcuda.so.1", "/old", 0, 0}}, {}}));
  std::vector<std::string> notices;
  ASSERT_TRUE(prepared(root.path(), kCuda, notices).has_value());
  EXPECT_EQ(root.read("etc/ld.so.conf"), "mine\n");
  const auto cache = read_ld_cache(root.read("etc/ld.so.cache"));
  ASSERT_EQ(cache->entries.size(), 3u);
  EXPECT_EQ(cache->entries[0].path, "/usr/lib/x/libcuda.so.1") << "not the image's own old one";
  EXPECT_EQ(cache->entries[2].path, "/lib/libc.so.6");
}

TEST(PrepareContainer, MuslHasAPathInstead) {
  const FolderFixture root;
  root.write("usr/lib/x/libcuda.so.535", tiny_library("libcuda.so.1"));
  root.write("lib/ld-musl-x86_64.so.1", "");
  std::vector<std::string> notices;
  ASSERT_TRUE(prepared(root.path(), kCuda, notices).has_value());
  EXPECT_EQ(root.read("etc/ld-musl-x86_64.path"), "/lib:/usr/local/lib:/usr/lib\n/usr/lib/x");
  ASSERT_TRUE(prepared(root.path(), kCuda, notices).has_value());
  EXPECT_EQ(root.read("etc/ld-musl-x86_64.path"), "/lib:/usr/local/lib:/usr/lib\n/usr/lib/x") << "once";
}

// The classes of CVE-2024-0135 to 0137, CVE-2025-23359 and CVE-2024-0132: links of the image that lead out of it.
TEST(PrepareContainer, AHostileImageChangesNothingOutside) {
  const FolderFixture folder;
  folder.write("host/etc/ld.so.cache", "host");
  folder.write("host/lib/keep", "host");
  const std::string host = folder / "host";
  const std::string up = "../../../../../../../../../..";
  for (const std::string& target : {host, up + host, "/proc/self/root" + host, std::string("/proc/1/cwd")}) {
    const FolderFixture root;
    root.link("etc", target + "/etc");
    root.link("usr/lib/x", target + "/lib");
    std::vector<std::string> notices;
    (void)prepared(root.path(), kCuda, notices);
    EXPECT_FALSE(notices.empty());
    EXPECT_EQ(folder.read("host/etc/ld.so.cache"), "host");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "host/lib"), {}), 1);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "host/etc"), {}), 1);
  }
}

TEST(PrepareContainer, FilesWhereFoldersShouldBeAreNoReasonToFail) {
  const FolderFixture root;
  root.write("usr/lib/x/libcuda.so.535", tiny_library("libcuda.so.1"));
  root.write("etc", "a file");
  std::vector<std::string> notices;
  EXPECT_TRUE(prepared(root.path(), kCuda, notices).has_value());
  EXPECT_EQ(notices.size(), 2u);
}

TEST(PrepareContainer, TheRootIsAbsoluteRelativeOrAbsent) {
  const FolderFixture bundle;
  bundle.write("config.json", R"({"root": {"path": "rootfs"}})");
  EXPECT_EQ(container_root(R"({"bundle": ")" + bundle.path() + R"("})").value(), bundle / "rootfs");
  EXPECT_EQ(container_root(R"({"bundle": "/b", "root": "/r"})").value(), "/r");
  EXPECT_EQ(container_root(R"({"bundle": "/b", "root": "r"})").value(), "/b/r");
  bundle.write("config.json", R"({"root": {"path": "/elsewhere"}})");
  EXPECT_EQ(container_root(R"({"bundle": ")" + bundle.path() + R"("})").value(), "/elsewhere");
  bundle.write("config.json", "{}");
  EXPECT_FALSE(container_root(R"({"bundle": ")" + bundle.path() + R"("})").has_value());
  for (const std::string state : {"", "{}", "[]", R"({"bundle": "/no/such/bundle"})", R"({"root": "r"})"}) {
    EXPECT_FALSE(container_root(state).has_value()) << state;
  }
}

TEST(PrepareContainer, TheDriverMakesNoNodes) {
  EXPECT_EQ(params_without_device_files("A: 1\nModifyDeviceFiles: 1\nDeviceFileUID: 0\n"),
            "A: 1\nModifyDeviceFiles: 0\nDeviceFileUID: 0\n");
  EXPECT_EQ(params_without_device_files("ModifyDeviceFiles: 0\n"), "");
  EXPECT_EQ(params_without_device_files("ModifyDeviceFiles: 12\n"), "");
  EXPECT_EQ(params_without_device_files(""), "");
}

TEST(PrepareContainer, WordsOfTheHook) {
  const auto what =
      parse_preparation(HookWords{"--link", "a.so.1::/lib/a.so", "--library", "/lib/a.so", "--keep-device-nodes"});
  ASSERT_TRUE(what.has_value());
  EXPECT_EQ(what->links.at(0), (NvidiaFiles::Link{"/lib/a.so", "a.so.1"}));
  EXPECT_EQ(what->libraries, std::vector<std::string>{"/lib/a.so"});
  EXPECT_TRUE(what->keeps_device_nodes);
  for (const HookWords& words :
       {HookWords{"--link"}, HookWords{"--link", "a"}, HookWords{"--link", "a::b"}, HookWords{"--link", "::/b"},
        HookWords{"--library", "b"}, HookWords{"--other"}, HookWords{"x"}}) {
    EXPECT_FALSE(parse_preparation(words).has_value());
  }
}

TEST(Bundle, AFileIsReplacedAsAWhole) {
  const FolderFixture folder;
  folder.write("config.json", "before");
  std::filesystem::permissions(folder / "config.json", std::filesystem::perms(0640));
  ASSERT_TRUE(replace_file(folder / "config.json", "after").has_value());
  EXPECT_EQ(folder.read("config.json"), "after");
  EXPECT_EQ(std::filesystem::status(folder / "config.json").permissions(), std::filesystem::perms(0640));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
  EXPECT_FALSE(replace_file(folder / "nothing", "x").has_value());
  EXPECT_FALSE(read_whole_file(folder / "nothing").has_value());
}

}  // namespace
}  // namespace drover
