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

  Ended sh(const std::string& script) {
    if (!setup_.container) use_plan();
    return run(task({"sh", "-c", script}));
  }

  std::filesystem::path layer_;
  ContainerPlan plan_;
};

}  // namespace drover
