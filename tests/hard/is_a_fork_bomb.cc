// Forks for ever, and so does every child, each in a session of its own.
#include <sched.h>
#include <unistd.h>

int main() {
  for (;;) {
    const pid_t child = ::fork();
    if (child == 0) ::setsid();
    if (child < 0) ::sched_yield();
  }
}
