#include "cli/limit_flags.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "base/units.h"

namespace drover {
namespace {

// Less than this no program can even be started with.
constexpr std::uint64_t kLeastMemory = std::uint64_t{4} << 20;
constexpr std::uint64_t kLeastLog = 1024;

Result<std::uint64_t> size_of(const char* flag, const std::string& text) {
  auto size = parse_size(text);
  if (size) return size;
  return fail(ErrorCode::bad_input, fmt::format("{} '{}' is not a valid size", flag, text),
              "use a number with a unit, such as 512MiB or 4GiB");
}

}  // namespace

void add_limit_flags(const Verb& verb, LimitFlags& flags) {
  verb.add_option("--memory", flags.memory,
                  "Memory limit per item; an item that exceeds it is killed and reported as out of memory")
      .type_name("SIZE");
  verb.add_option("--cpus", flags.cpus, "CPU limit per item, such as 2 or 0.5").type_name("N").range(0.01, 4096.0);
  verb.add_option("--pids", flags.processes, "Maximum number of processes and threads per item (default: 4096)")
      .type_name("N")
      .range(1, 4'000'000);
  verb.add_option("--nice", flags.nice, "Add this to the nice value of items; a positive value lowers their priority")
      .type_name("N")
      .range(-20, 19);
  verb.add_option("--log-limit", flags.log_limit,
                  "Maximum output to keep per attempt, from its beginning and its end; 0: no limit (default: 64MiB)")
      .type_name("SIZE");
}

Result<ItemLimits> make_limits(const LimitFlags& flags) {
  ItemLimits limits;
  if (!flags.memory.empty()) {
    auto memory = size_of("--memory", flags.memory);
    if (!memory) return pass(memory);
    if (*memory < kLeastMemory) {
      return fail(ErrorCode::bad_input, fmt::format("--memory {} is too small to run any program", flags.memory),
                  "use at least 4MiB");
    }
    limits.memory_bytes = *memory;
  }
  auto log = size_of("--log-limit", flags.log_limit);
  if (!log) return pass(log);
  if (*log != 0 && *log < kLeastLog) {
    return fail(ErrorCode::bad_input, fmt::format("--log-limit {} is too small", flags.log_limit),
                "use at least 1KiB, or 0 for no limit");
  }
  limits.log_bytes = *log;
  limits.milli_cpus = static_cast<std::uint32_t>(std::lround(flags.cpus * 1000));
  limits.processes = flags.processes;
  limits.nice = flags.nice;
  return limits;
}

Result<ItemLimits> limits_over(const ItemLimits& base, const LimitFlags& flags, const Verb& verb) {
  auto given = make_limits(flags);
  if (!given) return pass(given);
  ItemLimits out = base;
  if (verb.count("--memory") > 0) out.memory_bytes = given->memory_bytes;
  if (verb.count("--cpus") > 0) out.milli_cpus = given->milli_cpus;
  if (verb.count("--pids") > 0) out.processes = given->processes;
  if (verb.count("--nice") > 0) out.nice = given->nice;
  if (verb.count("--log-limit") > 0) out.log_bytes = given->log_bytes;
  return out;
}

bool has_limit_flags(const Verb& verb) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"--memory", "--cpus", "--pids", "--nice", "--log-limit"},
      [&](const char* flag) { return verb.count(flag) > 0; });
}

void add_shortage_flags(const Verb& verb, ShortageFlags& flags) {
  verb.add_option("--max-load", flags.max_load, "Do not start items while the load average is above N")
      .type_name("N")
      .positive();
  verb.add_option("--min-free-memory", flags.min_free_memory,
                  "Do not start items while less than SIZE of memory is free")
      .type_name("SIZE");
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
