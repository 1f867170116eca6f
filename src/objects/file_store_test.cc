#include "objects/file_store.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "objects/object_contract.h"

namespace drover {
namespace {

namespace fs = std::filesystem;

class FileStoreTest : public testing::Test {
 protected:
  ~FileStoreTest() override { fs::remove_all(folder_); }

  const std::string folder_ = concat(fs::temp_directory_path().string(), "/drover-files-", ::getpid());
  FileStore store_{folder_};
};

TEST_F(FileStoreTest, DoesWhatEveryStoreDoes) {
  EXPECT_EQ(all_of(store_, {}), "") << "the folder is not there yet";
  expect_contract(store_);
  for (const auto& it : fs::recursive_directory_iterator(folder_)) {
    EXPECT_FALSE(it.path().filename().string().starts_with(".drover-part-")) << it.path();
  }
}

TEST_F(FileStoreTest, NoKeyLeadsOutOfTheFolder) {
  for (const char* key : {"..", "../x", "a/../../x", "/etc/passwd", "a//b", "", ".", "a/", "./a"}) {
    EXPECT_EQ(store_.head(key).error().code, ErrorCode::bad_input) << key;
    EXPECT_FALSE(store_.put({.key = key}, bytes_from("x"))) << key;
  }
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(FileStoreTest, WhatFailsLeavesNothing) {
  const ObjectBytes breaks{.size = 3'000'000,
                           .read = [](std::uint64_t offset, std::uint64_t size) -> Result<std::string> {
                             if (offset > 0) return fail(ErrorCode::io, "it broke");
                             return std::string(size, 'x');
                           }};
  EXPECT_FALSE(store_.put({.key = "sub/k"}, breaks));
  EXPECT_TRUE(fs::is_empty(folder_ + "/sub"));
}

}  // namespace
}  // namespace drover
