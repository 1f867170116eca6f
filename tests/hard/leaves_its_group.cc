// leaves_its_group group|session: joins its parent's group, or has a child in a new session; then waits for ever.
#include <unistd.h>

#include <cstdio>
#include <string_view>

int main(int, char** arguments) {
  if (std::string_view(arguments[1]) == "group") {
    if (::setpgid(0, ::getpgid(::getppid())) != 0) return 1;
  } else if (::fork() == 0 && ::setsid() < 0) {
    return 1;
  }
  std::puts("left");
  std::fflush(stdout);
  for (;;) ::pause();
}
