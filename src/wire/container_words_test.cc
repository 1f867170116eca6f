#include "wire/container_words.h"

#include <gtest/gtest.h>

namespace drover {
namespace {

TEST(ContainerWords, ADeviceHasItsPlaceBelowDev) {
  EXPECT_EQ(device_to_text(device_from_text("/dev/fuse").value()), "/dev/fuse:/dev/fuse:rwm");
  EXPECT_EQ(device_to_text(device_from_text("/srv/made:/dev/dri/card0:r").value()), "/srv/made:/dev/dri/card0:r");
  EXPECT_TRUE(device_from_text("/dev/null:/dev/shmoo"));
  for (const char* text : {"/dev/fuse:/etc/passwd", "/srv/made", "/dev/fuse:/dev", "/dev/fuse:/dev/shm",
                           "/dev/fuse:/dev/pts/7", "/dev/fuse:/dev/../etc/passwd", "/dev/fuse:/device"}) {
    EXPECT_FALSE(device_from_text(text)) << text;
  }
  const auto elsewhere = device_from_text("/dev/fuse:/etc/passwd");
  EXPECT_EQ(elsewhere.error().message, "has the path '/etc/passwd' inside the container, but devices must be in /dev");
  EXPECT_EQ(elsewhere.error().next, "give it a name in /dev: /dev/fuse:/dev/NAME");
}

TEST(ContainerWords, ALimitLeavesTheRuntimeEnoughToStart) {
  for (const char* text : {"nofile=64", "nofile=64:100", "fsize=65536", "stack=unlimited", "cpu=1", "core=0", "nproc=0",
                           "memlock=0", "nofile=-1"}) {
    EXPECT_TRUE(ulimit_from_text(text)) << text;
  }
  for (const char* text : {"nofile=10", "nofile=63:4096", "fsize=0", "stack=0", "cpu=0", "as=1000000", "data=0"}) {
    EXPECT_FALSE(ulimit_from_text(text)) << text;
  }
  const auto few = ulimit_from_text("nofile=10");
  EXPECT_EQ(few.error().message, "is too low for a container to start");
  EXPECT_EQ(few.error().next, "write nofile=64 or more, and lower it inside: sh -c 'ulimit …'");
}

}  // namespace
}  // namespace drover
