#include "run/image_user.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/text.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class ImageUserTest : public ::testing::Test {
 protected:
  ImageUserTest() {
    std::string path = (fs::temp_directory_path() / "drover-image-user.XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = path;
    fs::create_directories(upper() / "etc");
    fs::create_directories(lower() / "etc");
    write(lower() / "etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1001::/home/ann:/bin/sh\n");
    write(lower() / "etc/group", "root:x:0:\ncrew:x:1002:bob,ann\n");
  }
  ~ImageUserTest() override { fs::remove_all(root_); }

  fs::path upper() const { return root_ / "upper"; }
  fs::path lower() const { return root_ / "lower"; }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  Result<ImageUser> find(const std::string& wanted) const {
    return find_image_user(wanted, {upper().string(), lower().string()});
  }

  fs::path root_;
};

TEST_F(ImageUserTest, TheUppermostLayerThatHasTheFileCounts) {
  auto found = find("ann");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->user, 1000U);
  EXPECT_EQ(found->group, 1001U);
  EXPECT_EQ(found->groups, std::vector<std::uint32_t>{1002});
  write(upper() / "etc/passwd", "ann:x:7:8::/:/bin/sh\n");
  EXPECT_EQ(find("ann")->user, 7U);
}

TEST_F(ImageUserTest, ALinkLeadsNowhereButIntoItsLayer) {
  write(root_ / "outside", "ann:x:66:66::/:/bin/sh\n");
  fs::create_symlink("../../../../outside", upper() / "etc/passwd");
  EXPECT_EQ(find("ann")->user, 1000U) << "the link leads nowhere, and the lower layer has the file";
  fs::remove(upper() / "etc/passwd");
  fs::create_symlink("/etc/accounts", upper() / "etc/passwd");
  write(upper() / "etc/accounts", "ann:x:9:9::/:/bin/sh\n");
  EXPECT_EQ(find("ann")->user, 9U);
}

/// Somebody who waits until a pipe is opened for reading.
class PipeWatch {
 public:
  explicit PipeWatch(const fs::path& pipe) : pipe_(pipe) {
    if (::mkfifo(pipe.c_str(), 0600) != 0) throw std::runtime_error("no pipe");
    thread_ = std::thread([this] {
      id_ = static_cast<pid_t>(::syscall(SYS_gettid));
      ::close(::open(pipe_.c_str(), O_WRONLY | O_CLOEXEC));
      was_opened_ = true;
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!is_waiting() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  }
  ~PipeWatch() {
    const int reader = ::open(pipe_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    thread_.join();
    ::close(reader);
  }
  PipeWatch(const PipeWatch&) = delete;
  PipeWatch& operator=(const PipeWatch&) = delete;

  /// Somebody has opened it: the thread returns, or will at once.
  bool was_opened() const { return was_opened_ || !is_waiting(); }

 private:
  bool is_waiting() const {
    if (id_ == 0) return false;
    std::ifstream file(concat("/proc/self/task/", id_.load(), "/stat"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = text.rfind(") ");
    return name_end != std::string::npos && text.substr(name_end + 2, 1) == "S";
  }

  fs::path pipe_;
  std::atomic<pid_t> id_ = 0;
  std::atomic<bool> was_opened_ = false;
  std::thread thread_;
};

// To open a device can be enough to set it off, and the worker is root.
TEST_F(ImageUserTest, WhatIsNoFileIsNeverOpened) {
  const PipeWatch watch(upper() / "etc/passwd");
  ASSERT_FALSE(watch.was_opened());
  EXPECT_FALSE(find("ann")) << "the uppermost layer says that there is no such file";
  EXPECT_EQ(find("1000")->user, 1000U);
  EXPECT_FALSE(watch.was_opened());
}

}  // namespace
}  // namespace drover
