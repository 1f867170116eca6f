// exits CODE
#include <cstdlib>

int main(int, char** arguments) {
  return std::atoi(arguments[1]);
}
