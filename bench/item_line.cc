// An item that prints one line and does nothing else.
#include <unistd.h>

int main() {
  constexpr char kLine[] = "one line, as an item would print it\n";
  return write(STDOUT_FILENO, kLine, sizeof kLine - 1) == sizeof kLine - 1 ? 0 : 1;
}
