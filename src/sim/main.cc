// simulate: acts seeds out, and shows what is needed for those that fail.
//
//   simulate [--seed FIRST] [--seeds COUNT] [--hours EACH] [--side-by-side N] [--no-shrink]
//
// Without --seed it begins with one that the clock gives, which it prints, so that each run tries seeds that were never
// tried before.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "sim/apart.h"
#include "sim/shrink.h"
#include "sim/world.h"

namespace {

using namespace drover;
using namespace drover::sim;

// No two runs have a seed in common, unless they begin within a second of each other.
std::uint64_t seed_of_now() {
  constexpr std::uint64_t kMostSeeds = 10'000;
  return static_cast<std::uint64_t>(std::time(nullptr)) * kMostSeeds;
}

struct Options {
  std::uint64_t first = seed_of_now();
  std::uint64_t seeds = 1000;
  std::int64_t hours = 10;
  std::size_t side_by_side = 2;
  bool shrink = true;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--no-shrink") {
      options.shrink = false;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::uint64_t value = std::strtoull(argv[++i], nullptr, 10);
    if (flag == "--seed") {
      options.first = value;
    } else if (flag == "--seeds") {
      options.seeds = value;
    } else if (flag == "--hours") {
      options.hours = static_cast<std::int64_t>(value);
    } else if (flag == "--side-by-side") {
      options.side_by_side = value;
    } else {
      return false;
    }
  }
  return options.seeds > 0 && options.hours > 0 && options.side_by_side > 0;
}

void show_failure(const Options& options, std::uint64_t seed, const std::string& failure) {
  std::printf("seed %llu FAILED: %s\n", static_cast<unsigned long long>(seed), failure.c_str());
  std::fflush(stdout);
  if (!options.shrink) return;
  const auto tryout = [](const Script& script) { return act_apart([&] { return act_out(script); }).failure; };
  const Script small = shrink(make_script(seed, options.hours), failure, tryout);
  std::printf("  %s\n%s", tryout(small).value_or("(it does not fail any more)").c_str(), describe(small).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: simulate [--seed FIRST] [--seeds COUNT] [--hours EACH] [--side-by-side N] [--no-shrink]\n");
    return 2;
  }
  std::printf("seeds from %llu\n", static_cast<unsigned long long>(options.first));
  std::fflush(stdout);
  std::int64_t counted = 0;
  std::uint64_t settled = 0;
  std::uint64_t attempts = 0;
  std::uint64_t failed = 0;
  std::map<std::uint64_t, std::uint64_t> hashes;
  Apart apart(options.side_by_side);
  for (std::uint64_t seed = options.first; seed < options.first + options.seeds; ++seed) {
    apart.start([&, seed] { return act_out(make_script(seed, options.hours)); },
                [&, seed](const RunResult& result) {
                  hashes[seed] = result.hash;
                  counted += result.counted_hours;
                  settled += result.settled;
                  attempts += result.attempts;
                  if (result.failure) {
                    ++failed;
                    show_failure(options, seed, result.failure.value_or(""));
                  }
                });
  }
  apart.wait_for_all();
  Hasher all;
  for (const auto& [seed, hash] : hashes) all.add(hash);
  std::printf(
      "%llu seeds from %llu: %lld hours that count, %llu items settled in %llu attempts, %llu failed, hash %016llx\n",
      static_cast<unsigned long long>(options.seeds), static_cast<unsigned long long>(options.first),
      static_cast<long long>(counted), static_cast<unsigned long long>(settled),
      static_cast<unsigned long long>(attempts), static_cast<unsigned long long>(failed),
      static_cast<unsigned long long>(all.value()));
  return failed == 0 ? 0 : 1;
}
