// What the tests of images share: the catalogue that tests/images.py makes, registries and proxies that it serves, and
// a store of one's own.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "run/image/image_store.h"
#include "run/remove_tree.h"

namespace drover {

namespace fs = std::filesystem;

/// A folder that goes with the test. In memory where there is enough of it: each image that is fetched waits for a sync
/// of the whole file system, and so for whatever else writes there. There are kernels that keep no user's attributes
/// there.
class TestFolder {
 public:
  enum class Where : std::uint8_t { memory, disk };

  explicit TestFolder(Where where = Where::memory) {
    std::error_code error;
    const fs::path memory = "/dev/shm";
    const bool in_memory =
        where == Where::memory && fs::space(memory, error).available > std::uint64_t{1} << 30 && !error;
    std::string path = ((in_memory ? memory : fs::temp_directory_path()) / "drover-image-test.XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = path;
  }
  ~TestFolder() { remove_tree(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// tests/images.py as a server: it says where it is, does what it is told line by line, and goes when we do.
class ImageServer {
 public:
  explicit ImageServer(std::vector<std::string> words) {
    words.insert(words.begin(), {"/usr/bin/python3", "-B", DROVER_TESTS "/images.py"});
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], 0);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    const int error = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    if (error != 0) throw std::runtime_error("python3 does not start");
    to_ = ::fdopen(in[1], "w");
    from_ = ::fdopen(out[0], "r");
    host_ = line();
  }
  ~ImageServer() {
    std::fclose(to_);
    std::fclose(from_);
    int status = 0;
    ::waitpid(pid_, &status, 0);
  }
  ImageServer(const ImageServer&) = delete;
  ImageServer& operator=(const ImageServer&) = delete;

  const std::string& host() const { return host_; }
  std::string tell(const std::string& what) {
    std::fputs((what + "\n").c_str(), to_);
    std::fflush(to_);
    return line();
  }

 private:
  std::string line() {
    std::string out;
    for (int c = std::fgetc(from_); c != EOF && c != '\n'; c = std::fgetc(from_)) out += static_cast<char>(c);
    return out;
  }

  pid_t pid_ = -1;
  FILE* to_ = nullptr;
  FILE* from_ = nullptr;
  std::string host_;
};

/// Made once for all tests of the program.
inline const std::string& catalogue() {
  static const TestFolder folder;
  static const bool made = [] {
    const std::string command = concat("/usr/bin/python3 -B " DROVER_TESTS "/images.py make ", folder.path());
    return std::system(command.c_str()) == 0;
  }();
  if (!made) throw std::runtime_error("tests/images.py failed");
  return folder.path();
}

inline std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline struct stat status_of(const fs::path& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) throw std::runtime_error(concat("not there: ", path.string()));
  return status;
}

inline bool is_there(const fs::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

inline bool is_whiteout(const fs::path& path) {
  const struct stat status = status_of(path);
  return S_ISCHR(status.st_mode) && status.st_rdev == 0;
}

inline std::string xattr_of(const fs::path& path, const char* name) {
  char value[256];
  const ssize_t size = ::lgetxattr(path.c_str(), name, value, sizeof value);
  return size < 0 ? "none" : std::string(value, static_cast<std::size_t>(size));
}

inline ImageReference reference(std::string_view text) {
  auto parsed = ImageReference::parse(text);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *parsed;
}

/// A store of one's own. Each test ends with nothing left in its work folder.
class ImageStoreTest : public ::testing::Test {
 protected:
  explicit ImageStoreTest(TestFolder::Where where = TestFolder::Where::memory) : folder_(where) {}
  void SetUp() override { open(ImageLimits{.stall_ms = 20'000}); }
  void TearDown() override { EXPECT_TRUE(fs::is_empty(path() + "/work")); }

  void open(const ImageLimits& limits) {
    auto opened = ImageStore::open(path(), limits);
    ASSERT_TRUE(opened) << opened.error().sentence();
    store_ = std::move(*opened);
  }

  std::string path() const { return folder_.path() + "/store"; }
  ImageStore& store() { return *store_; }

  ImageResult<std::shared_ptr<const Image>> fetch(const std::string& text, const ImageAccess& access = {}) {
    return store_->fetch(reference(text), access);
  }
  ImageResult<std::shared_ptr<const Image>> fetch_layout(const std::string& name) {
    return fetch(concat("oci:", catalogue(), "/", name));
  }
  /// The fault that comes of it, or "ready".
  std::string fault_of(const std::string& name) {
    auto image = fetch_layout(name);
    return image ? "ready" : std::string(to_string(image.error().fault));
  }

  TestFolder folder_;
  std::unique_ptr<ImageStore> store_;
};

}  // namespace drover
