// dies_of SIGNAL: sends it to itself, and leaves no core behind; exits well if it lives on.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>

int main(int, char** arguments) {
  const rlimit no_core{};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::kill(::getpid(), std::atoi(arguments[1]));
  return 0;
}
