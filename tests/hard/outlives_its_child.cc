// outlives_its_child waits|leaves CODE PROGRAM ARGUMENT…: starts the program, waits until it is dead, with or without
// taking its status away from whoever inherits it, and exits with the code.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

int main(int, char** arguments) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv(arguments[3], arguments + 3);
    ::_exit(127);
  }
  siginfo_t ended;
  const int options = std::string_view(arguments[1]) == "waits" ? WEXITED : WEXITED | WNOWAIT;
  if (::waitid(P_PID, static_cast<id_t>(child), &ended, options) != 0) return 99;
  return std::atoi(arguments[2]);
}
