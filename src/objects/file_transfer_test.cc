#include "objects/file_transfer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "objects/file_store.h"
#include "objects/object_contract.h"
#include "objects/stated_checksum.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

/// A store over a network that can be set to fail.
class TroubledStore : public FileStore {
 public:
  struct Trouble {
    std::atomic<bool> damages = false;
    std::atomic<bool> fails_parts = false;
    std::atomic<int> aborted = 0;
    std::string checksum;  // stated of every object
  };
  TroubledStore(const std::string& folder, Trouble& trouble) : FileStore(folder), trouble_(trouble) {}

  Result<ObjectInfo> head(const std::string& key) override {
    auto out = FileStore::head(key);
    if (out) out->checksum = trouble_.checksum;
    return out;
  }
  Result<ObjectInfo> get(const std::string& key, const ObjectRange& range,
                         const std::function<Result<void>(std::string_view)>& take) override {
    return FileStore::get(key, range, [&](std::string_view bytes) {
      std::string given(bytes);
      if (trouble_.damages) given.back() ^= 1;
      return take(given);
    });
  }
  Result<UploadedPart> upload_part(const std::string& key, const std::string& upload, std::uint32_t number,
                                   const std::string& bytes) override {
    if (trouble_.fails_parts && number == 3) return fail(ErrorCode::unreachable, "no answer");
    return FileStore::upload_part(key, upload, number, bytes);
  }
  Result<void> abort_upload(const std::string& key, const std::string& upload) override {
    ++trouble_.aborted;
    return FileStore::abort_upload(key, upload);
  }

 private:
  Trouble& trouble_;
};

class FileTransferTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_ + "/files"); }
  ~FileTransferTest() override { fs::remove_all(folder_); }

  std::string read(const std::string& path) const {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  Result<ObjectInfo> download(const std::string& key) {
    return transfer_.download(
        store_, open_, key, folder_ + "/files/" + key, [this](std::uint64_t bytes) { passed_ += bytes; },
        stop_.get_token());
  }
  Result<ObjectInfo> upload(const std::string& name) {
    return transfer_.upload(
        store_, open_, folder_ + "/files/" + name, name, [this](std::uint64_t bytes) { passed_ += bytes; },
        stop_.get_token());
  }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ + "/files/" + name, std::ios::binary) << bytes;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_ + "/files"), {}));
  }

  const std::string folder_ = concat(fs::temp_directory_path().string(), "/drover-transfer-", ::getpid());
  TroubledStore::Trouble trouble_;
  TroubledStore store_{folder_ + "/store", trouble_};
  FileTransfer transfer_{{.piece_bytes = 1000, .pieces_at_once = 3}};
  FileTransfer::Open open_ = [this]() -> Result<std::unique_ptr<ObjectStore>> {
    return std::make_unique<TroubledStore>(folder_ + "/store", trouble_);
  };
  std::stop_source stop_;
  std::atomic<std::uint64_t> passed_ = 0;
};

TEST_F(FileTransferTest, FilesOfAnySizeComeAndGo) {
  for (const std::size_t size : {0UL, 1UL, 1999UL, 2000UL, 2001UL, 50'123UL}) {
    const std::string name = concat("f", size);
    const std::string bytes = some_bytes(size, size);
    write(name, bytes);
    passed_ = 0;
    auto sent = upload(name);
    ASSERT_TRUE(sent) << sent.error().message;
    EXPECT_EQ(sent->size, size);
    EXPECT_EQ(passed_, size);
    fs::remove(folder_ + "/files/" + name);
    passed_ = 0;
    auto got = download(name);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(passed_, size);
    EXPECT_TRUE(read(folder_ + "/files/" + name) == bytes);
  }
}

TEST_F(FileTransferTest, WhatWasDamagedOnItsWayLeavesNoFile) {
  const std::string bytes = some_bytes(1, 10'000);
  ASSERT_TRUE(store_.put({.key = "k"}, bytes_from(bytes)));
  Checksums sums({ChecksumKind::sha256});
  sums.add(bytes);
  trouble_.checksum = stated_checksum(ChecksumKind::sha256, sums.finish().at(ChecksumKind::sha256));
  EXPECT_TRUE(download("k"));
  fs::remove(folder_ + "/files/k");
  trouble_.damages = true;
  auto got = download("k");
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::damaged) << got.error().message;
  EXPECT_EQ(files(), 0U);
}

TEST_F(FileTransferTest, AnUploadThatFailsIsAborted) {
  write("k", some_bytes(1, 10'000));
  trouble_.fails_parts = true;
  auto sent = upload("k");
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message, "no answer");
  EXPECT_EQ(trouble_.aborted, 1);
  EXPECT_EQ(store_.head("k").error().code, ErrorCode::not_found);
}

TEST_F(FileTransferTest, AStopEndsIt) {
  ASSERT_TRUE(store_.put({.key = "k"}, bytes_from(some_bytes(1, 10'000))));
  write("l", some_bytes(1, 10'000));
  stop_.request_stop();
  EXPECT_EQ(download("k").error().code, ErrorCode::stopped);
  EXPECT_EQ(upload("l").error().code, ErrorCode::stopped);
  EXPECT_EQ(files(), 1U);
}

TEST_F(FileTransferTest, ErrorsNameTheFile) {
  EXPECT_EQ(download("none").error().code, ErrorCode::not_found);
  EXPECT_TRUE(upload("none").error().message.contains("/files/none"));
  fs::create_directory(folder_ + "/files/folder");
  EXPECT_TRUE(upload("folder").error().message.contains("is not a regular file"));
  EXPECT_EQ(files(), 1U);
}

TEST(TypeOfFile, IsThatOfItsExtension) {
  EXPECT_EQ(type_of_file("in/a.PNG"), "image/png");
  EXPECT_EQ(type_of_file("in.png/a"), "");
  EXPECT_EQ(type_of_file("a"), "");
}

TEST(StatedChecksum, IsReadBack) {
  EXPECT_EQ(stated_checksum(ChecksumKind::crc32c, std::string("\x01\xff\x00\x7f", 4)), "crc32c:01ff007f");
  const auto read = read_stated_checksum("crc32c:01ff007f");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->first, ChecksumKind::crc32c);
  EXPECT_EQ(read->second, std::string("\x01\xff\x00\x7f", 4));
  for (const char* none : {"", "md5:", "md5", "crc7:00", "md5:0", "md5:0g"})
    EXPECT_FALSE(read_stated_checksum(none)) << none;
}

}  // namespace
}  // namespace drover
