// Says something on both streams, closes them, lets writes fail, and exits.
#include <unistd.h>

#include <initializer_list>

int main() {
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::write(number, "last words\n", 11) != 11) return 1;
    ::close(number);
    if (::write(number, "nobody hears this\n", 18) >= 0) return 2;
  }
  return 0;
}
