// sim_mutants: injects one fault after the other, and says how many seeds it takes to find each. The core, the
// agent and the stepper are compiled into this program once more, with their faults.
//
//   sim_mutants [--seeds MOST] [--only NAME]
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "sim/apart.h"
#include "sim/mutants/agent_mutants.h"
#include "sim/mutants/catalog_mutants.h"
#include "sim/mutants/cost_mutants.h"
#include "sim/mutants/engine_mutants.h"
#include "sim/mutants/fleet_mutants.h"
#include "sim/mutants/job_mutants.h"
#include "sim/mutants/schedule_mutants.h"
#include "sim/mutants/seam_mutants.h"
#include "sim/mutants/stream_mutants.h"
#include "sim/mutants/worker_mutants.h"
#include "sim/world.h"

namespace {

using namespace drover;
using namespace drover::sim;

constexpr std::int64_t kHours = 8;

std::vector<Mutant> all_mutants() {
  std::vector<Mutant> all;
  const auto add = [&](const std::vector<Mutant>& some) { all.insert(all.end(), some.begin(), some.end()); };
  add(seam_mutants());
  add(job_mutants());
  add(worker_mutants());
  add(schedule_mutants());
  add(catalog_mutants());
  add(stream_mutants());
  add(fleet_mutants());
  add(cost_mutants());
  add(engine_mutants());
  add(agent_mutants());
  return all;
}

RunResult act_with_fault(const Mutant& mutant, std::uint64_t seed) {
  return act_apart([&] {
    mutant.fault();
    // What an assertion says belongs in the table, not between its lines.
    if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, 2);
    return act_out(make_script(seed, kHours), mutant.seams);
  });
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t most = 100;
  std::string_view only;
  std::size_t part = 0;
  std::size_t parts = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::string_view(argv[i]) == "--seeds") most = std::strtoull(argv[i + 1], nullptr, 10);
    if (std::string_view(argv[i]) == "--only") only = argv[i + 1];
    // One of so many parts, such as 2/16: each may be found on a core of its own.
    if (std::string_view(argv[i]) == "--part") std::sscanf(argv[i + 1], "%zu/%zu", &part, &parts);
  }
  int missed = 0;
  std::size_t number = 0;
  std::printf("%-38s %-6s %s\n", "fault", "seeds", "found as");
  for (const Mutant& mutant : all_mutants()) {
    if (number++ % std::max<std::size_t>(parts, 1) != part || (!only.empty() && only != mutant.name)) continue;
    std::uint64_t seed = 1;
    RunResult result = act_with_fault(mutant, seed);
    while (!result.failure && seed < most) result = act_with_fault(mutant, ++seed);
    missed += result.failure ? 0 : 1;
    std::printf("%-38s %-6s %s\n", mutant.name.c_str(), result.failure ? std::to_string(seed).c_str() : "MISSED",
                result.failure.value_or("").c_str());
    std::fflush(stdout);
  }
  return missed == 0 ? 0 : 1;
}
