#include <cstdio>
#include <cstdlib>
#include "sim/world.h"
using namespace drover::sim;
int main(int argc, char** argv) {
  const auto first = std::strtoull(argv[1], nullptr, 10);
  const auto count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (auto seed = first; seed < first + count; ++seed) {
    const Script script = make_script(seed, 10);
    const RunResult out = act_out(script);
    std::printf("seed %llu: hash %016llx settled %llu steps %llu hours %lld %s\n", (unsigned long long)seed,
                (unsigned long long)out.hash, (unsigned long long)out.settled, (unsigned long long)out.steps,
                (long long)out.counted_hours, out.failure ? out.failure->c_str() : "ok");
    std::fflush(stdout);
  }
}
