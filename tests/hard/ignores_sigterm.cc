// Ignores the polite signal, says so, and waits for ever.
#include <signal.h>
#include <unistd.h>

int main() {
  ::signal(SIGTERM, SIG_IGN);
  constexpr char kSaid[] = "deaf\n";
  if (::write(STDOUT_FILENO, kSaid, sizeof kSaid - 1) < 0) return 1;
  for (;;) ::pause();
}
