#include "keys/private_file.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <functional>
#include <iterator>

#include "keys/folder_fixture.h"

namespace drover {
namespace {

using PrivateFile = FolderTest;

/// What `act` does in a process of its own: the signal that ended it, or 0.
int signal_that_ended(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/// From now on this process dies of any rename.
void die_at_rename() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rename, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{.len = std::size(filter), .filter = filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(1);
  }
}

TEST_F(PrivateFile, IsForItsOwnerWhateverTheUmaskSays) {
  const mode_t before = umask(0);
  ASSERT_TRUE(replace_file(in_folder("open"), "x", Readers::owner));
  umask(0777);
  ASSERT_TRUE(replace_file(in_folder("shut"), "x", Readers::owner));
  ASSERT_TRUE(replace_file(in_folder("shown"), "x", Readers::everyone));
  umask(before);
  EXPECT_EQ(mode_of(in_folder("open")), 0600U);
  EXPECT_EQ(mode_of(in_folder("shut")), 0600U);
  EXPECT_EQ(mode_of(in_folder("shown")), 0644U);
}

TEST_F(PrivateFile, ReadsBackWhatWasWritten) {
  const std::string bytes("a\0b\n", 4);
  ASSERT_TRUE(replace_file(in_folder("x"), bytes, Readers::owner));
  EXPECT_TRUE(read_private_file(in_folder("x"))->equals(bytes));
}

TEST_F(PrivateFile, IsRefusedWhenOthersMayUseIt) {
  const std::string path = in_folder("x");
  ASSERT_TRUE(replace_file(path, "secret", Readers::owner));
  for (const mode_t mode : {0640, 0604, 0620, 0602, 0610, 0644, 0666}) {
    chmod(path.c_str(), mode);
    const auto read = read_private_file(path);
    ASSERT_FALSE(read) << mode;
    EXPECT_EQ(read.error().code, ErrorCode::bad_input);
    EXPECT_NE(read.error().message.find(path), std::string::npos);
    EXPECT_NE(read.error().next.find("chmod 600 " + path), std::string::npos);
  }
  chmod(path.c_str(), 0400);
  EXPECT_TRUE(read_private_file(path));
}

TEST_F(PrivateFile, MissingAndFoldersAreErrors) {
  EXPECT_EQ(read_private_file(in_folder("x")).error().code, ErrorCode::not_found);
  std::filesystem::create_directory(in_folder("folder"));
  chmod(in_folder("folder").c_str(), 0700);
  EXPECT_EQ(read_private_file(in_folder("folder")).error().code, ErrorCode::bad_input);
  EXPECT_FALSE(replace_file(in_folder("none/x"), "x", Readers::owner));
}

TEST_F(PrivateFile, ACrashBeforeTheRenameLeavesTheOldOne) {
  const std::string path = in_folder("x");
  ASSERT_TRUE(replace_file(path, "old", Readers::owner));
  EXPECT_EQ(signal_that_ended([&] {
              die_at_rename();
              EXPECT_FALSE(replace_file(path, "new", Readers::owner));
            }),
            SIGSYS);
  EXPECT_EQ(content_of(path + ".new"), "new") << "it died too early";
  EXPECT_TRUE(read_private_file(path)->equals("old"));

  ASSERT_TRUE(replace_file(path, "newer", Readers::owner));
  EXPECT_TRUE(read_private_file(path)->equals("newer"));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

TEST_F(PrivateFile, ACrashInTheMiddleOfWritingLeavesTheOldOne) {
  const std::string path = in_folder("x");
  ASSERT_TRUE(replace_file(path, "old", Readers::owner));
  EXPECT_EQ(signal_that_ended([&] {
              const rlimit no_core{0, 0};
              setrlimit(RLIMIT_CORE, &no_core);
              const rlimit little{10, 10};
              setrlimit(RLIMIT_FSIZE, &little);
              EXPECT_FALSE(replace_file(path, std::string(1000, 'n'), Readers::owner));
            }),
            SIGXFSZ);
  EXPECT_EQ(content_of(path + ".new").size(), 10U);
  EXPECT_TRUE(read_private_file(path)->equals("old"));
}

TEST_F(PrivateFile, AnUnfinishedOneThatOthersCouldReadIsNotWrittenInto) {
  const std::string path = in_folder("x");
  write_text(path + ".new", "left behind");
  chmod((path + ".new").c_str(), 0666);
  std::ifstream already_open(path + ".new");
  ASSERT_TRUE(replace_file(path, "secret", Readers::owner));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(already_open), {}), "left behind");
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST_F(PrivateFile, WhatCannotBeWrittenLeavesNothingHalf) {
  const std::string path = in_folder("x");
  std::filesystem::create_directories(path + "/in the way");
  EXPECT_FALSE(replace_file(path, "secret", Readers::owner));
  EXPECT_FALSE(std::filesystem::exists(path + ".new"));
}

}  // namespace
}  // namespace drover
