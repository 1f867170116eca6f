// The limit that a runner of processes can come near: threads that do nothing but vfork, exec and wait, with output
// to wherever this program's own goes. spawn_loop ITEMS THREADS PROGRAM [ARGUMENT...]; {} in an argument is the item's
// number, which without arguments is the only one.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

std::string filled(std::string text, const std::string& number) {
  for (std::size_t at = text.find("{}"); at != std::string::npos; at = text.find("{}", at + number.size())) {
    text.replace(at, 2, number);
  }
  return text;
}

bool run_one(const char* program, const std::vector<std::string>& templates, long item) {
  std::vector<std::string> words = {program};
  for (const std::string& text : templates) words.push_back(filled(text, std::to_string(item)));
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = vfork();  // NOLINT(bugprone-unsafe-functions): the cheapest way there is, which is the point
  if (pid == 0) {
    execve(program, arguments.data(), environ);
    _exit(127);
  }
  int status = 0;
  return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("usage: spawn_loop ITEMS THREADS PROGRAM [ARGUMENT...]\n", stderr);
    return 2;
  }
  const long items = std::atol(argv[1]);
  const char* program = argv[3];
  std::vector<std::string> templates(argv + 4, argv + argc);
  if (templates.empty()) templates = {"{}"};
  std::atomic<long> next = 1;
  std::atomic<long> failed = 0;
  std::vector<std::thread> threads(std::strtoul(argv[2], nullptr, 10));
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      for (long item = next++; item <= items; item = next++) {
        if (!run_one(program, templates, item)) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return failed == 0 ? 0 : 1;
}
