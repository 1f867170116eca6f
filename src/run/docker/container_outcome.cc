#include "run/docker/container_outcome.h"

#include <time.h>

#include "base/text.h"

namespace drover {
namespace {

constexpr int kKilled = 137;  // as Docker tells SIGKILL

}  // namespace

Outcome outcome_of(const ContainerEnd& end) {
  Outcome outcome{.exit_code = end.exit_code};
  std::string how = concat("exited with code ", end.exit_code);
  if (end.had_oom_kill && !outcome.success()) {
    outcome.ending = Ending::out_of_memory;
    how =
        concat("out of memory: ", how, "; the kernel killed ", end.exit_code == kKilled ? "it" : "one of its processes",
               end.memory_limit > 0 ? concat(" at its limit of ", end.memory_limit >> 20, " MiB")
                                    : std::string(" because the machine had no memory left"));
    outcome.reason = how;
  }
  std::vector<std::string> notes;
  if (end.had_oom_kill && outcome.success()) notes.emplace_back("some of its processes were killed: out of memory");
  notes.insert(notes.end(), end.notes.begin(), end.notes.end());
  if (!notes.empty()) outcome.reason = how;
  for (const std::string& note : notes) outcome.reason += "; " + note;
  return outcome;
}

std::int64_t docker_time_us(std::string_view text) {
  const std::string copy(text);
  tm time{};
  const char* rest = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr || time.tm_year < 70) return 0;
  std::int64_t fraction_us = 0;
  if (*rest == '.') {
    ++rest;
    for (int digit = 0; digit < 6; ++digit) {
      const bool has_one = *rest >= '0' && *rest <= '9';
      fraction_us = fraction_us * 10 + (has_one ? *rest++ - '0' : 0);
    }
  }
  return std::int64_t{::timegm(&time)} * 1'000'000 + fraction_us;
}

}  // namespace drover
