#include "objects/upload_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "objects/file_store.h"
#include "objects/object_contract.h"

namespace drover {
namespace {

class UploadWriterTest : public testing::Test {
 protected:
  ~UploadWriterTest() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ = concat(std::filesystem::temp_directory_path().string(), "/drover-upload-", ::getpid());
  FileStore store_{folder_};
};

TEST_F(UploadWriterTest, WritesObjectsOfAnySize) {
  for (const std::size_t size : {0UL, 1UL, 999UL, 1000UL, 1001UL, 3000UL, 12'345UL}) {
    const std::string bytes = some_bytes(size, size);
    UploadWriter writer(store_, {.key = concat("k", size)}, 1000);
    for (std::size_t at = 0; at < size; at += 333) ASSERT_TRUE(writer.add(std::string_view(bytes).substr(at, 333)));
    const auto done = writer.finish();
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->size, size);
    EXPECT_TRUE(text_of(store_, concat("k", size)) == bytes) << size;
  }
}

TEST_F(UploadWriterTest, WhatIsNotFinishedLeavesNothing) {
  {
    UploadWriter writer(store_, {.key = "k"}, 1000);
    ASSERT_TRUE(writer.add(some_bytes(1, 5000)));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

}  // namespace
}  // namespace drover
