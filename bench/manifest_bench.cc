// The programs that manifest.py runs and times.
#include "manifest_bench.h"

#include <cstring>
#include <span>

#include "measure.h"

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<std::size_t>(argc));
  const auto is = [&](const char* verb, std::size_t arguments) {
    return words.size() == arguments + 2 && std::strcmp(words[1], verb) == 0;
  };
  if (is("list", 2)) {
    drover::write_list(words[2], std::strtoull(words[3], nullptr, 10));
  } else if (is("accept", 2)) {
    drover::accept_list(words[2], words[3]);
  } else if (is("half", 1)) {
    drover::finish_half(words[2]);
  } else if (is("open", 1)) {
    drover::open_half_finished(words[2]);
  } else {
    std::fputs("usage: manifest_bench list FILE ITEMS | accept FILE DATABASE | half DATABASE | open DATABASE\n",
               stderr);
    return 2;
  }
}
