// eats_memory MIB: takes so much, and touches all of it.
#include <cstdlib>
#include <list>
#include <vector>

int main(int, char** arguments) {
  std::list<std::vector<char>> eaten;
  for (int i = 0; i < std::atoi(arguments[1]); ++i) eaten.emplace_back(1 << 20, 'x');
  return 0;
}
