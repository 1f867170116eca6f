#include "host/cgroup_tree.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace drover {
namespace {

TEST(CgroupTree, ProcessesAreReadToTheLast) {
  char folder[] = "/tmp/drover-cgroup-tree-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  const std::string file = std::string(folder) + "/cgroup.procs";
  std::vector<pid_t> all;
  {
    std::ofstream out(file);
    for (pid_t pid = 100'000; pid < 110'000; pid += 3) {
      all.push_back(pid);
      out << pid << '\n';
    }
    out << "0\n";  // one that cannot be seen from here
    all.push_back(7);
    out << "7\n";
  }
  EXPECT_EQ(processes_in(file), all);
  EXPECT_TRUE(processes_in(std::string(folder) + "/nothing").empty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace drover
