// forks_until_it_cannot MOST: forks children that wait for ever; when no more come, says how many there are, and exits.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int, char** arguments) {
  const int most = std::atoi(arguments[1]);
  int forked = 0;
  for (; forked < most; ++forked) {
    const pid_t child = ::fork();
    if (child < 0) break;
    if (child == 0) {
      for (;;) ::pause();
    }
  }
  std::printf("%d\n", forked);
  return 0;
}
