// Forks a daemon as daemons have always been forked (twice, with a session in between, everything closed), and exits.
#include <unistd.h>

#include <initializer_list>

int main() {
  if (::fork() != 0) return 0;
  ::setsid();
  if (::fork() != 0) return 0;
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(number);
  for (;;) ::pause();
}
