// Stops itself, for ever unless somebody continues it.
#include <signal.h>

int main() {
  for (;;) ::raise(SIGSTOP);
}
