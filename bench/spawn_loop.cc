// The limit that a runner of processes can come near: threads that do nothing but vfork, exec and wait, with output
// to wherever this program's own goes. spawn_loop ITEMS THREADS PROGRAM
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

bool run_one(const char* program, long item) {
  const std::string number = std::to_string(item);
  char* const arguments[] = {const_cast<char*>(program), const_cast<char*>(number.c_str()), nullptr};
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions): the cheapest way there is, which is the point
  if (pid == 0) {
    execve(program, arguments, environ);
    _exit(127);
  }
  int status = 0;
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fputs("usage: spawn_loop ITEMS THREADS PROGRAM\n", stderr);
    return 2;
  }
  const long items = std::atol(argv[1]);
  const char* program = argv[3];
  std::atomic<long> next = 1;
  std::atomic<long> failed = 0;
  std::vector<std::thread> threads(std::strtoul(argv[2], nullptr, 10));
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (long item = next++; item <= items; item = next++) {
        if (!run_one(program, item)) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failed == 0 ? 0 : 1;
}
