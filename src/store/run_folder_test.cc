#include "store/run_folder.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace drover {
namespace {

class RunFolders : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/drover-folder-XXXXXX";
    root_ = mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  Result<RunFolder> hold(const std::string& name) {
    return RunFolder::hold(root_, name, [&](const std::string& text) { notices_.push_back(text); });
  }

  std::string root_;
  std::vector<std::string> notices_;
};

void touch(const std::string& path) {
  std::ofstream(path) << "x";
}

TEST_F(RunFolders, OnlyOneProcessHoldsAFolderAndTheErrorNamesIt) {
  const auto first = hold("a");
  ASSERT_TRUE(first);
  const auto second = hold("a");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::in_use);
  EXPECT_NE(second.error().message.find(std::to_string(getpid())), std::string::npos);
  EXPECT_TRUE(hold("b"));
}

TEST_F(RunFolders, TheHolderIsKnownWhileItHolds) {
  {
    const auto held = hold("a");
    ASSERT_TRUE(held);
    EXPECT_EQ(held->holder(), getpid());
  }
  touch(root_ + "/runs/a/drover.db");
  EXPECT_FALSE(RunFolder::look(root_, "a")->holder());
}

TEST_F(RunFolders, ALockInheritedByAnotherProcessIsWaitedForWhenItsHolderIsGone) {
  // A child takes the lock and leaves it to a grandchild, as drover leaves it to its slots; then the child dies.
  int gate[2];
  ASSERT_EQ(pipe(gate), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto held = hold("a");
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      close(gate[1]);
      char byte = 0;
      (void)!read(gate[0], &byte, 1);
      _exit(0);
    }
    _exit(held ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  close(gate[0]);
  std::string notice;
  const auto held = RunFolder::hold(root_, "a", [&](const std::string& text) {
    notice = text;
    close(gate[1]);  // the grandchild ends
  });
  ASSERT_TRUE(held) << held.error().message;
  EXPECT_NE(notice.find("waiting for the processes of the killed run 'a'"), std::string::npos);
}

TEST_F(RunFolders, TheNewestIsTheOneLastHeld) {
  for (const char* name : {"a", "b", "c"}) {
    const auto held = hold(name);
    ASSERT_TRUE(held);
    touch(held->database());
  }
  EXPECT_EQ(RunFolder::newest(root_), "c");
  ASSERT_TRUE(hold("a"));
  EXPECT_EQ(RunFolder::newest(root_), "a");
  EXPECT_EQ(RunFolder::all(root_), (std::vector<std::string>{"a", "b", "c"}));
}

TEST_F(RunFolders, WhatIsSetAsideComesBackWhenTheNewIsDiscarded) {
  auto held = hold("a");
  ASSERT_TRUE(held);
  touch(held->database());
  ASSERT_TRUE(held->set_aside());
  EXPECT_FALSE(held->has_database());
  EXPECT_FALSE(hold("a")) << "the new folder is held too";
  touch(held->path() + "/new");
  ASSERT_TRUE(held->discard());
  EXPECT_TRUE(std::filesystem::exists(root_ + "/runs/a/drover.db"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/runs/a/new"));
}

TEST_F(RunFolders, WhatWasSetAsideByAProcessThatDiedComesBack) {
  {
    auto held = hold("a");
    ASSERT_TRUE(held);
    touch(held->path() + "/old");
    ASSERT_TRUE(held->set_aside());
    touch(held->path() + "/new");
  }
  ASSERT_TRUE(hold("a"));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/runs/a/old"));
  EXPECT_FALSE(std::filesystem::exists(root_ + "/runs/a/new"));
}

TEST_F(RunFolders, WhatIsSetAsideIsSeenWhileNothingHasTakenItsPlace) {
  {
    auto held = hold("a");
    ASSERT_TRUE(held);
    touch(held->database());
    ASSERT_TRUE(held->set_aside());
    ASSERT_TRUE(RunFolder::look(root_, "a")) << "the new one has no ledger yet";
    // As if it had died between the two.
    std::filesystem::remove_all(root_ + "/runs/a");
  }
  EXPECT_EQ(RunFolder::all(root_), (std::vector<std::string>{"a"}));
  ASSERT_TRUE(RunFolder::look(root_, "a"));
  ASSERT_TRUE(hold("a"));
  EXPECT_TRUE(std::filesystem::exists(root_ + "/runs/a/drover.db"));
}

TEST_F(RunFolders, AClaimedNameIsNobodyElses) {
  EXPECT_EQ(RunFolder::claim(root_, "a").value(), "a");
  EXPECT_EQ(RunFolder::claim(root_, "a").value(), "a-2");
  EXPECT_EQ(RunFolder::claim(root_, "a").value(), "a-3");
}

TEST_F(RunFolders, WhatIsDroppedLeavesNothing) {
  auto held = hold("a");
  ASSERT_TRUE(held);
  touch(held->database());
  ASSERT_TRUE(held->set_aside());
  ASSERT_TRUE(held->drop_aside());
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(root_ + "/runs")) ++entries;
  EXPECT_EQ(entries, 1U);
}

TEST(RunNames, AreWhatFitsInAFolderName) {
  for (const char* name : {"a", "A-b_c.9", "..a"}) EXPECT_TRUE(is_valid_name(name)) << name;
  for (const char* name : {"", ".", "..", "a/b", "a b", "ä", "a:b"}) EXPECT_FALSE(is_valid_name(name)) << name;
  EXPECT_TRUE(is_valid_name(std::string(128, 'a')));
  EXPECT_FALSE(is_valid_name(std::string(129, 'a')));
}

}  // namespace
}  // namespace drover
