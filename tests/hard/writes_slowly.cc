// writes_slowly TEXT: one byte a second.
#include <unistd.h>

#include <string_view>

int main(int, char** arguments) {
  for (const char& byte : std::string_view(arguments[1])) {
    if (::write(STDOUT_FILENO, &byte, 1) != 1) return 1;
    ::sleep(1);
  }
  return 0;
}
