#include "cli/limit_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>

#include "base/units.h"

namespace drover {
namespace {

// Less than this no program can even be started with.
constexpr std::uint64_t kLeastMemory = std::uint64_t{4} << 20;
constexpr std::uint64_t kLeastLog = 1024;

Result<std::uint64_t> size_of(const char* flag, const std::string& text) {
  auto size = parse_size(text);
  if (size) return size;
  return fail(ErrorCode::bad_input, fmt::format("{} '{}' is no size", flag, text), "write 512MiB or 4GiB");
}

}  // namespace

void add_limit_flags(CLI::App& verb, LimitFlags& flags) {
  verb.add_option("--memory", flags.memory,
                  "Memory that an item may use; one that needs more is killed, and that is said")
      ->type_name("SIZE");
  verb.add_option("--cpus", flags.cpus, "CPUs that an item may use, such as 2 or 0.5")
      ->type_name("N")
      ->check(CLI::Range(0.01, 4096.0));
  verb.add_option("--pids", flags.processes, "Processes and threads that an item may have (default: 4096)")
      ->type_name("N")
      ->check(CLI::Range(1, 4'000'000));
  verb.add_option("--nice", flags.nice, "Run items with this much less priority")
      ->type_name("N")
      ->check(CLI::Range(-20, 19));
  verb.add_option("--log-limit", flags.log_limit,
                  "Output that is kept of an attempt, its beginning and its end; 0: all (default: 64MiB)")
      ->type_name("SIZE");
}

Result<ItemLimits> make_limits(const LimitFlags& flags) {
  ItemLimits limits;
  if (!flags.memory.empty()) {
    auto memory = size_of("--memory", flags.memory);
    if (!memory) return pass(memory);
    if (*memory < kLeastMemory) {
      return fail(ErrorCode::bad_input, fmt::format("--memory {} is too little for any program", flags.memory),
                  "give at least 4MiB");
    }
    limits.memory_bytes = *memory;
  }
  auto log = size_of("--log-limit", flags.log_limit);
  if (!log) return pass(log);
  if (*log != 0 && *log < kLeastLog) {
    return fail(ErrorCode::bad_input, fmt::format("--log-limit {} keeps nothing that says anything", flags.log_limit),
                "give at least 1KiB, or 0 for no limit");
  }
  limits.log_bytes = *log;
  limits.milli_cpus = static_cast<std::uint32_t>(std::lround(flags.cpus * 1000));
  limits.processes = flags.processes;
  limits.nice = flags.nice;
  return limits;
}

void add_shortage_flags(CLI::App& verb, ShortageFlags& flags) {
  verb.add_option("--max-load", flags.max_load, "Start no item while the machine's load is higher")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  verb.add_option("--min-free-memory", flags.min_free_memory, "Start no item while less memory is free on the machine")
      ->type_name("SIZE");
}

Result<Shortage> make_shortage(const ShortageFlags& flags) {
  Shortage shortage;
  if (flags.max_load > 0) shortage.max_load = flags.max_load;
  if (!flags.min_free_memory.empty()) {
    auto size = size_of("--min-free-memory", flags.min_free_memory);
    if (!size) return pass(size);
    shortage.min_free_bytes = *size;
  }
  return shortage;
}

}  // namespace drover
