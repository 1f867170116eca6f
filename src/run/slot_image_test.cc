#include "run/slot_image.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace drover {
namespace {

void expect_program(Result<Descriptor> image) {
  ASSERT_TRUE(image.has_value()) << image.error().message;
  const std::span<const char> program = slot_program();
  std::vector<char> read(program.size() + 1);
  EXPECT_EQ(::pread(image->get(), read.data(), read.size(), 0), static_cast<ssize_t>(program.size()));
  EXPECT_TRUE(std::equal(program.begin(), program.end(), read.begin()));
  const std::string path = "/proc/self/fd/" + std::to_string(image->get());
  EXPECT_EQ(::access(path.c_str(), X_OK), 0);
}

TEST(SlotImage, TheProgramIsAnExecutableFile) {
  ASSERT_GT(slot_program().size(), 1000U);
  EXPECT_EQ(std::string(slot_program().data(), 4), "\177ELF");
}

TEST(SlotImage, ItCanLieInMemoryOrTheRunnerIsToldToUseTheDisk) {
  Result<Descriptor> image = slot_image_in_memory();
  // A machine may forbid programs in memory. Then it must say just that, which sends the runner to the disk.
  if (!image) {
    EXPECT_EQ(image.error().code, ErrorCode::read_only);
    image = slot_image_on_disk();
  }
  expect_program(std::move(image));
}

TEST(SlotImage, ItCanLieOnDisk) {
  expect_program(slot_image_on_disk());
}

}  // namespace
}  // namespace drover
