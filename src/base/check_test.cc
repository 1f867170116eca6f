#include "base/check.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <thread>

namespace drover {
namespace {

/// A process that fails a check, with its standard error going to `error_to`. Its wait status; nothing came within the
/// bound: -1.
int fail_with_stderr(int error_to) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(error_to, STDERR_FILENO);
    DROVER_CHECK(child != 0, "a test makes it fail");
    ::_exit(0);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      ::kill(child, SIGKILL);
      ::waitpid(child, &status, 0);
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status;
}

class CheckTest : public ::testing::Test {
 protected:
  CheckTest() {
    if (::pipe2(pipe_.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~CheckTest() override {
    for (const int end : pipe_) ::close(end);
  }

  std::array<int, 2> pipe_{};
};

TEST_F(CheckTest, SaysWhereAndWhatAndAborts) {
  const int status = fail_with_stderr(pipe_[1]);
  ASSERT_TRUE(status != -1 && WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
  std::array<char, 4096> said{};
  const ssize_t size = ::read(pipe_[0], said.data(), said.size());
  ASSERT_GT(size, 0);
  const std::string text(said.data(), static_cast<std::size_t>(size));
  EXPECT_TRUE(text.starts_with("drover: internal error at ")) << text;
  EXPECT_TRUE(text.ends_with(": a test makes it fail (child != 0)\n")) << text;
}

// A process that is wrong about its own state must not go on because nobody reads what it says.
TEST_F(CheckTest, AbortsThoughNobodyReadsItsStandardError) {
  const int flags = ::fcntl(pipe_[1], F_GETFL);
  ::fcntl(pipe_[1], F_SETFL, flags | O_NONBLOCK);
  const std::string much(65'536, 'x');
  while (::write(pipe_[1], much.data(), much.size()) > 0) {
  }
  ::fcntl(pipe_[1], F_SETFL, flags);
  const int status = fail_with_stderr(pipe_[1]);
  ASSERT_NE(status, -1) << "it waited for a reader";
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGABRT);
}

TEST_F(CheckTest, CallsTheHandlerOfTheSignal) {
  const auto before = ::signal(SIGABRT, [](int) { ::_exit(7); });
  const int status = fail_with_stderr(pipe_[1]);
  ::signal(SIGABRT, before);
  ASSERT_TRUE(status != -1 && WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace drover
