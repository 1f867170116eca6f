// spins SECONDS: uses all the processor time it gets for so long.
#include <chrono>
#include <cstdlib>

int main(int, char** arguments) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(std::atof(arguments[1]));
  while (Clock::now() < end) {
  }
  return 0;
}
