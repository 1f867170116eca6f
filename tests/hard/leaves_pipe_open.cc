// Leaves both streams open in a grandchild of another session, which goes on writing, and exits.
#include <unistd.h>

int main() {
  constexpr char kSaid[] = "parent\n";
  if (::write(STDOUT_FILENO, kSaid, sizeof kSaid - 1) < 0) return 1;
  if (::fork() != 0) return 0;
  ::setsid();
  if (::fork() != 0) return 0;
  while (::write(STDERR_FILENO, "grandchild\n", 11) == 11) ::usleep(1000);
  for (;;) ::pause();
}
