// Layers that somebody has made to get out of their box, and layers that are merely odd: each as an image of one layer,
// through the front door of the store.
#include "run/image/layer_unpacker.h"

#include <sys/sysmacros.h>

#include "run/image/image_fixture.h"

namespace drover {
namespace {

class Unpack : public ImageStoreTest {
 protected:
  explicit Unpack(TestFolder::Where where = TestFolder::Where::memory) : ImageStoreTest(where) {}

  /// The layer's folder. The image is held until the test ends.
  fs::path layer(const std::string& name) {
    auto image = fetch_layout(name);
    if (!image) throw std::runtime_error(image.error().sentence());
    held_.push_back(*image);
    return (*image)->layers.front();
  }
  void expect_nothing_left() {
    EXPECT_TRUE(fs::is_empty(path() + "/layers/sha256"));
    EXPECT_TRUE(fs::is_empty(path() + "/images"));
  }

  std::vector<std::shared_ptr<const Image>> held_;
};

class UnpackOnDisk : public Unpack {
 protected:
  UnpackOnDisk() : Unpack(TestFolder::Where::disk) {}
};

TEST_F(Unpack, NamesThatLeadOutsideAreRefused) {
  EXPECT_EQ(fault_of("hostile-dotdot"), "corrupt");
  auto image = fetch_layout("hostile-dotdot");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().message, concat("image oci:", catalogue(),
                                          "/hostile-dotdot: a path in a layer leads outside the image: ../../escaped"));
  EXPECT_EQ(image.error().blame, Blame::user);
  expect_nothing_left();
}

TEST_F(Unpack, AbsoluteNamesBeginAtTheImagesRoot) {
  const fs::path root = layer("hostile-absolute");
  EXPECT_EQ(content(root / "abs/file"), "x");
  EXPECT_EQ(content(root / "etc/two"), "y");
  EXPECT_FALSE(is_there("/abs"));
  EXPECT_FALSE(is_there("/etc/two"));
}

TEST_F(Unpack, LinkedParentsLeadNowhereButIntoTheImage) {
  const fs::path root = layer("hostile-link-parent");
  EXPECT_FALSE(is_there("/tmp/drover-images-outside"));
  EXPECT_FALSE(is_there("/tmp/drover-images-owned"));
  // A link that leads nowhere makes room for the folder that the name asks for; one to /tmp of the image is followed.
  EXPECT_EQ(content(root / "out/owned"), "x");
  EXPECT_TRUE(fs::is_directory(fs::symlink_status(root / "out")));
  EXPECT_EQ(content(root / "up/drover-images-owned"), "x");
  EXPECT_EQ(content(root / "loop/inside"), "x");
}

TEST_F(Unpack, AFileReplacesALinkAndIsNotWrittenThroughIt) {
  const fs::path root = layer("hostile-link-file");
  EXPECT_FALSE(is_there("/etc/drover-images-owned"));
  EXPECT_EQ(content(root / "file"), "x");
  EXPECT_TRUE(S_ISREG(status_of(root / "file").st_mode));
  const mode_t etc = status_of("/etc").st_mode;
  const fs::path other = layer("hostile-link-folder");
  EXPECT_EQ(status_of("/etc").st_mode, etc);
  EXPECT_FALSE(is_there("/etc/inside"));
  EXPECT_TRUE(S_ISDIR(status_of(other / "f").st_mode));
  EXPECT_EQ(content(other / "f/inside"), "x");
}

TEST_F(Unpack, HardLinksStayWithinTheirLayer) {
  EXPECT_EQ(fault_of("hostile-hard-link-absolute"), "corrupt");
  EXPECT_EQ(fault_of("hostile-hard-link-up"), "corrupt");
  EXPECT_EQ(fault_of("hostile-hard-link-by-link"), "corrupt");
  expect_nothing_left();
  const fs::path root = layer("hostile-hard-link-itself");
  EXPECT_EQ(content(root / "a"), "kept");
  EXPECT_EQ(status_of(root / "a").st_ino, status_of(root / "b").st_ino);
}

TEST_F(Unpack, WhiteoutsOfParentsAreRefused) {
  EXPECT_EQ(fault_of("hostile-whiteout-dot"), "corrupt");
  EXPECT_EQ(fault_of("hostile-whiteout-dotdot"), "corrupt");
  EXPECT_EQ(fault_of("hostile-whiteout-nothing"), "corrupt");
  expect_nothing_left();
  std::ofstream("/tmp/drover-images-victim") << "still here";
  layer("hostile-whiteout-by-link");
  EXPECT_EQ(content("/tmp/drover-images-victim"), "still here");
  fs::remove("/tmp/drover-images-victim");
}

TEST_F(Unpack, WhiteoutsAreAboutLowerLayers) {
  const fs::path root = layer("hostile-whiteout-own");
  EXPECT_EQ(content(root / "kept"), "kept");
  EXPECT_EQ(content(root / "d/x"), "x");
  // A folder of the same name begins anew: nothing of the lower one shows through.
  EXPECT_EQ(xattr_of(root / "d", "trusted.overlay.opaque"), "y");
  EXPECT_EQ(xattr_of(root / "e", "trusted.overlay.opaque"), "y");
}

TEST_F(Unpack, WhatHidesEverythingLeavesOneLayer) {
  auto image = fetch_layout("opaque-root");
  ASSERT_TRUE(image) << image.error().sentence();
  ASSERT_EQ((*image)->layers.size(), 1U);
  EXPECT_EQ(content(fs::path((*image)->layers[0]) / "alone"), "x");
}

TEST_F(Unpack, DevicesAndPipesAreMadeByRoot) {
  const fs::path root = layer("hostile-devices");
  EXPECT_EQ(status_of(root / "null").st_rdev, makedev(1, 3));
  EXPECT_EQ(status_of(root / "null").st_mode & 07777, 0666U);
  EXPECT_TRUE(S_ISBLK(status_of(root / "disk").st_mode));
  EXPECT_TRUE(S_ISFIFO(status_of(root / "pipe").st_mode));
}

TEST_F(Unpack, SetuidIsKeptWhereOnlyRootCanEnter) {
  const fs::path root = layer("hostile-setuid");
  EXPECT_EQ(status_of(root / "su").st_mode & 07777, 04755U);
  EXPECT_EQ(status_of(root / "sg").st_mode & 07777, 02755U);
  EXPECT_EQ(status_of(root / "sg").st_gid, 7U);
  EXPECT_EQ(status_of(root / "sticky").st_mode & 07777, 01777U);
  EXPECT_EQ(status_of(path() + "/layers").st_mode & 077, 0U);
  EXPECT_EQ(status_of(root.parent_path()).st_mode & 077, 0U);
}

TEST_F(Unpack, AParentMayComeAfterItsChild) {
  const fs::path root = layer("hostile-late-parent");
  EXPECT_EQ(content(root / "a/b/c"), "x");
  EXPECT_EQ(content(root / "a/d"), "y");
  EXPECT_EQ(status_of(root / "a/b").st_mode & 07777, 0711U);
  EXPECT_EQ(status_of(root / "a").st_mode & 07777, 0500U);
  EXPECT_EQ(status_of(root / "a").st_mtim.tv_sec, 1'600'000'000);
  EXPECT_EQ(status_of(root / "a/b/c").st_mtim.tv_sec, 1'600'000'000);
  EXPECT_EQ(status_of(root).st_mode & 07777, 0755U);
}

TEST_F(Unpack, TheLastOfTwoWins) {
  const fs::path root = layer("hostile-twice");
  EXPECT_EQ(content(root / "f"), "two");
  EXPECT_EQ(content(root / "g/x"), "x");
  EXPECT_EQ(content(root / "h"), "file");
  EXPECT_EQ(content(root / "i/x"), "x");
  EXPECT_EQ(fs::read_symlink(root / "j"), "g");
  EXPECT_EQ(content(root / "g/y"), "y");
}

TEST_F(UnpackOnDisk, AttributesThatOverlayReadsAreNotTheImagesToSet) {
  const fs::path root = layer("hostile-xattrs");
  EXPECT_EQ(xattr_of(root / "ping", "user.note"), "kept");
  EXPECT_EQ(xattr_of(root / "ping", "trusted.overlay.redirect"), "none");
  EXPECT_EQ(xattr_of(root / "ping", "user.overlay.opaque"), "none");
  EXPECT_NE(xattr_of(root / "capable", "security.capability"), "none");
  EXPECT_EQ(held_.back()->notes.at("extended attribute trusted.overlay.redirect"), 1U);
}

TEST_F(Unpack, NamesAreBytesAndMayBeLong) {
  for (const char* name : {"hostile-long-names", "hostile-long-names-gnu"}) {
    const fs::path root = layer(name);
    EXPECT_EQ(content(root / std::string(255, 'n')), "x");
    fs::path deep = root;
    for (int i = 0; i < 30; ++i) deep /= std::string(100, 'p');
    EXPECT_EQ(content(deep), "deep");
  }
  for (const char* name : {"hostile-names", "hostile-names-gnu"}) {
    const fs::path root = layer(name);
    EXPECT_EQ(content(root / "grüße"), "x") << name;
    EXPECT_EQ(content(root / "\xff\xfe"), "y") << name;
  }
  EXPECT_EQ(content(layer("hostile-utf8-pax") / "grüße"), "x");
  // Go writes such a header for a name that is not UTF-8.
  EXPECT_EQ(content(layer("hostile-names-raw-pax") / "\xff\xfe"), "x");
  EXPECT_EQ(fault_of("hostile-name-too-long"), "corrupt");
  EXPECT_EQ(fault_of("hostile-path-too-long"), "too_large");
  EXPECT_EQ(fault_of("hostile-owner"), "corrupt");
}

TEST_F(Unpack, DepthIsNoMatter) {
  layer("hostile-deep");
  held_.clear();
  auto report = store().prune({.most_bytes = 0});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->removed.size(), 1U);
  expect_nothing_left();
}

TEST_F(Unpack, TensOfThousandsOfNames) {
  const fs::path root = layer("hostile-many");
  EXPECT_TRUE(is_there(root / "many/99/29999"));
  EXPECT_EQ(held_.size(), 1U);
}

TEST_F(Unpack, MoreNamesThanTheLimitAreTooMany) {
  open({.entries = 1000});
  auto image = fetch_layout("hostile-many");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::too_large) << image.error().sentence();
  EXPECT_NE(image.error().message.find("more than 1000 files, folders and links"), std::string::npos)
      << image.error().sentence();
  expect_nothing_left();
}

// Each of them used to be remembered by its name: a megabyte of gzip took more than a gigabyte of memory.
TEST_F(Unpack, AttributesThatAreLeftOutAreCountedInBoundedMemory) {
  layer("hostile-many-xattrs");
  const LayerNotes& notes = held_.back()->notes;
  EXPECT_LE(notes.size(), 101U);
  std::uint64_t counted = 0;
  for (const auto& [what, count] : notes) counted += count;
  EXPECT_EQ(counted, 5'000U);
}

TEST_F(Unpack, AListOfHolesHasALimit) {
  layer("hostile-sparse-map-short");
  held_.clear();
  auto image = fetch_layout("hostile-sparse-map");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::too_large) << image.error().sentence();
  EXPECT_NE(image.error().message.find(": layer sha256:"), std::string::npos) << image.error().sentence();
  EXPECT_NE(image.error().message.find("more than 4.0 MiB of headers"), std::string::npos) << image.error().sentence();
}

TEST_F(Unpack, WhatIsRememberedOfALayerHasALimit) {
  open({.layer_memory = 512});
  auto image = fetch_layout("plain-gzip");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::too_large) << image.error().sentence();
  EXPECT_TRUE(image.error().message.starts_with(concat("image oci:", catalogue(), "/plain-gzip: layer sha256:")))
      << image.error().sentence();
  EXPECT_NE(image.error().message.find("more than 512 B of memory"), std::string::npos) << image.error().sentence();
  expect_nothing_left();
}

TEST_F(UnpackOnDisk, HolesStayHoles) {
  const fs::path root = layer("hostile-sparse");
  const struct stat status = status_of(root / "sparse");
  EXPECT_EQ(status.st_size, 8 << 20);
  EXPECT_LT(status.st_blocks * 512, 1 << 20);
  EXPECT_TRUE(content(root / "sparse").ends_with("end"));
}

TEST_F(Unpack, ABombStopsAtTheLimitAndLeavesNothing) {
  open({.bytes = 64 << 20});
  auto image = fetch_layout("bomb");
  ASSERT_FALSE(image);
  EXPECT_EQ(image.error().fault, ImageFault::too_large) << image.error().sentence();
  EXPECT_EQ(fault_of("hostile-sparse-huge"), "too_large");
  EXPECT_EQ(fault_of("bomb-behind"), "too_large");
  expect_nothing_left();
}

TEST_F(Unpack, WhatIsCutIsCorrupt) {
  EXPECT_EQ(fault_of("hostile-cut"), "corrupt");
  EXPECT_EQ(fault_of("hostile-not-a-tar"), "corrupt");
  expect_nothing_left();
}

TEST_F(Unpack, AnEmptyLayerIsALayer) {
  EXPECT_TRUE(fs::is_empty(layer("hostile-empty")));
  EXPECT_TRUE(fs::is_empty(layer("hostile-nothing")));
}

TEST_F(Unpack, WhatIsNotWhatItsDigestSaysIsRefused) {
  EXPECT_EQ(fault_of("wrong-digest"), "bad_digest");
  EXPECT_EQ(fault_of("cut-gzip"), "bad_digest");
  EXPECT_EQ(fault_of("wrong-diff-id"), "bad_digest");
  expect_nothing_left();
}

TEST_F(Unpack, EveryCompressionGivesTheSame) {
  for (const char* name : {"plain-gzip", "plain-zstd", "plain-tar", "gzip-members"}) {
    auto image = fetch_layout(name);
    ASSERT_TRUE(image) << name << ": " << image.error().sentence();
    const fs::path top = (*image)->layers.front();
    EXPECT_EQ(content(top / "hello"), "hello from the image\n");
    EXPECT_EQ(status_of(top / "hello").st_uid, 1000U);
    EXPECT_EQ(status_of(top / "hello").st_mode & 07777, 0640U);
    EXPECT_TRUE(is_whiteout(top / "etc/gone"));
    EXPECT_EQ(xattr_of(top / "etc/old", "trusted.overlay.opaque"), "y");
  }
}

/// Runs as somebody without rights; what it returns is the exit code.
template <class Body>
int as_nobody(Body body) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(99);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(Unpack, WithoutRootDevicesAreLeftOutAndSaid) {
  fs::permissions(catalogue(), fs::perms::others_read | fs::perms::others_exec, fs::perm_options::add);
  const TestFolder theirs(TestFolder::Where::disk);
  ASSERT_EQ(::chown(theirs.path().c_str(), 65534, 65534), 0);
  EXPECT_EQ(
      as_nobody([&] {
        auto store = ImageStore::open(theirs.path() + "/store", {});
        if (!store) return 1;
        auto devices = (*store)->fetch(reference(concat("oci:", catalogue(), "/hostile-devices")), {});
        if (!devices || (*devices)->notes.at("device") != 2) return 2;
        if (is_there(fs::path((*devices)->layers[0]) / "null") || !is_there(fs::path((*devices)->layers[0]) / "pipe"))
          return 3;
        auto plain = (*store)->fetch(reference(concat("oci:", catalogue(), "/plain-gzip")), {});
        if (!plain || (*plain)->marks != OverlayMarks::user) return 4;
        const fs::path top = (*plain)->layers[0];
        if (!is_whiteout(top / "etc/gone") || xattr_of(top / "etc/old", "user.overlay.opaque") != "y") return 5;
        auto late = (*store)->fetch(reference(concat("oci:", catalogue(), "/hostile-late-parent")), {});
        if (!late || content(fs::path((*late)->layers[0]) / "a/d") != "y") return 6;
        late = std::unexpected(ImageError{});
        devices = std::unexpected(ImageError{});
        plain = std::unexpected(ImageError{});
        auto report = (*store)->prune({.most_bytes = 0});
        if (!report || report->removed.size() != 3 || !fs::is_empty(theirs.path() + "/store/layers/sha256")) return 7;
        return 0;
      }),
      0);
}

}  // namespace
}  // namespace drover
