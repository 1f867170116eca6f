#include "accel/root_folder.h"

#include <fcntl.h>

#include "accel/driver_root_fixture.h"

namespace drover {
namespace {

RootFolder opened(const std::string& path) {
  auto root = RootFolder::open(path);
  EXPECT_TRUE(root.has_value());
  return std::move(*root);
}

TEST(RootFolder, SymlinksStayInside) {
  const FolderFixture folder;
  folder.write("outside", "out");
  folder.write("root/etc/inside", "in");
  folder.link("root/absolute", "/etc/inside");
  folder.link("root/up", "../../../../../etc/inside");
  folder.link("root/escape", "../outside");
  folder.link("root/proc-root", "/proc/self/root/etc/passwd");
  const RootFolder root = opened(folder / "root");
  EXPECT_EQ(root.read("/absolute"), "in");
  EXPECT_EQ(root.read("/up"), "in");
  EXPECT_EQ(root.read("/escape"), std::nullopt);
  EXPECT_EQ(root.read("/../outside"), std::nullopt);
  EXPECT_EQ(root.read("/proc-root"), std::nullopt);
  EXPECT_EQ(root.real_path("/up"), "/etc/inside");
  EXPECT_EQ(root.outside("/etc/inside"), folder / "root/etc/inside");
}

TEST(RootFolder, WritingFollowsNoLinkOutside) {
  const FolderFixture folder;
  folder.write("outside/file", "untouched");
  folder.write("root/x", "");
  folder.link("root/etc", folder / "outside");
  folder.link("root/lib", "../outside");
  const RootFolder root = opened(folder / "root");
  // The links point to folders that the root does not have.
  EXPECT_FALSE(root.write("/etc/file", "changed").has_value());
  EXPECT_FALSE(root.write("/lib/file", "changed").has_value());
  EXPECT_FALSE(root.link("/etc/link", "target").has_value());
  EXPECT_FALSE(root.write("/../outside/file", "changed").has_value() && folder.read("outside/file") != "untouched");
  EXPECT_EQ(folder.read("outside/file"), "untouched");
  EXPECT_FALSE(std::filesystem::exists(folder / "outside/link"));
}

TEST(RootFolder, AFileIsReplacedNotFollowed) {
  const FolderFixture folder;
  folder.write("outside", "untouched");
  folder.link("root/etc/ld.so.cache", folder / "outside");
  const RootFolder root = opened(folder / "root");
  ASSERT_TRUE(root.write("/etc/ld.so.cache", "new").has_value());
  EXPECT_EQ(folder.read("outside"), "untouched");
  EXPECT_EQ(folder.read("root/etc/ld.so.cache"), "new");
  EXPECT_FALSE(std::filesystem::is_symlink(folder / "root/etc/ld.so.cache"));
  EXPECT_EQ(root.names_in("/etc"), std::vector<std::string>{"ld.so.cache"}) << "nothing unfinished is left";
}

TEST(RootFolder, FoldersAreMadeOnTheWay) {
  const FolderFixture folder;
  const RootFolder root = opened(folder.path());
  ASSERT_TRUE(root.write("/a/b/c", "text", 0600).has_value());
  EXPECT_EQ(folder.read("a/b/c"), "text");
  EXPECT_EQ(root.lstat("/a/b/c")->st_mode & 07777, 0600u);
}

TEST(RootFolder, ALinkIsReplacedAndAFileIsNot) {
  const FolderFixture folder;
  folder.write("file", "x");
  const RootFolder root = opened(folder.path());
  ASSERT_TRUE(root.link("/lib/x.so", "x.so.1").has_value());
  ASSERT_TRUE(root.link("/lib/x.so", "x.so.2").has_value());
  ASSERT_TRUE(root.link("/file", "x.so.2").has_value());
  EXPECT_EQ(std::filesystem::read_symlink(folder / "lib/x.so"), "x.so.2");
  EXPECT_EQ(folder.read("file"), "x");
}

TEST(RootFolder, OnlyRegularFilesAreRead) {
  const FolderFixture folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const RootFolder root = opened(folder.path());
  EXPECT_EQ(root.read("/pipe"), std::nullopt);
  EXPECT_EQ(root.read("/"), std::nullopt);
  EXPECT_FALSE(RootFolder::open(folder / "nothing").has_value());
}

}  // namespace
}  // namespace drover
