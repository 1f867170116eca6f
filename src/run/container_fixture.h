// What the tests of containers share: an image with nothing but busybox in it.
#pragma once

#include <sys/stat.h>

#include <cstdlib>

#include "run/process_fixture.h"

namespace drover {

class ContainerTest : public ProcessTest, public ::testing::WithParamInterface<ContainerRuntime> {
 protected:
  ContainerTest() {
    layer_ = folder_ / "layer";
    for (const char* name : {"bin", "tmp", "etc", "home/ann"}) std::filesystem::create_directories(layer_ / name);
    std::filesystem::copy_file("/bin/busybox", layer_ / "bin/busybox");
    for (const char* name :
         {"sh",    "cat",    "echo",     "ls",   "id",     "sleep",  "true",  "false", "env",    "pwd",   "kill",
          "mount", "umount", "hostname", "grep", "dd",     "ps",     "mkdir", "touch", "rm",     "mknod", "head",
          "stat",  "nproc",  "readlink", "wc",   "setsid", "ulimit", "df",    "ip",    "chroot", "tail",  "yes"}) {
      std::filesystem::create_symlink("busybox", layer_ / "bin" / name);
    }
    write(layer_ / "etc/passwd", "root:x:0:0::/root:/bin/sh\nann:x:1000:1001::/home/ann:/bin/sh\n");
    write(layer_ / "etc/group", "root:x:0:\nann:x:1001:\ncrew:x:1002:bob,ann\n");
    plan_.options.image = "test";
    plan_.options.runtime = GetParam();
    plan_.layers = {layer_};
    setup_.workdir.clear();
    setup_.environment = {"PATH=/bin", "BASE=base"};
  }

  /// To be called before the first item, after plan_ is as wanted.
  void use_plan() { setup_.container = std::make_shared<ContainerPlan>(plan_); }

  static void write(const std::filesystem::path& path, const std::string& text) { std::ofstream(path) << text; }

  /// Memory in a mount, mounts in memory, a mount where memory usually is: each is what it was said to be, and new for
  /// each item if it is memory.
  void check_mounts_in_mounts() {
    const auto shared = folder_ / "shared";
    std::filesystem::create_directories(shared / "sub");
    write(shared / "in", "given\n");
    plan_.options.mounts = {{shared, "/a", false},
                            {shared / "in", "/t/deep/file", true},
                            {shared, "/dev/shm", false},
                            {shared, "/t/folder", true}};
    plan_.options.tmpfs = {
        {"/a/sub", 1 << 20}, {"/t", 1 << 20}, {"/t/own", 1 << 20}, {"/dev/x", 1 << 20}, {"/etc", 1 << 20}};
    use_plan();
    const bool is_fresh = !plan_.options.reuse || plan_.options.reset == ContainerReset::overlay;
    for (int turn = 0; turn < 2; ++turn) {
      const Ended ended =
          sh("cat /t/deep/file /t/folder/in /dev/shm/in; ls /a/sub /t/own /dev/x; ls /etc; "
             "touch /a/sub/n /t/own/n /dev/x/n && echo written");
      const std::string left =
          turn == 0 || is_fresh ? "/a/sub:\n\n/dev/x:\n\n/t/own:\n" : "/a/sub:\nn\n\n/dev/x:\nn\n\n/t/own:\nn\n";
      EXPECT_EQ(ended.out, "given\ngiven\ngiven\n" + left + "hostname\nhosts\nresolv.conf\nwritten\n")
          << ended.outcome.reason << ended.err;
    }
    EXPECT_TRUE(std::filesystem::is_empty(shared / "sub"));
  }

  Ended sh(const std::string& script) {
    if (!setup_.container) use_plan();
    return run(task({"sh", "-c", script}));
  }

  std::filesystem::path layer_;
  ContainerPlan plan_;
};

}  // namespace drover
