#include "worker/machine.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::uint64_t memory_line(std::string_view name) {
  const std::string text = contents("/proc/meminfo");
  const std::size_t at = text.find(name);
  if (at == std::string::npos) return 0;
  return std::strtoull(text.c_str() + at + name.size(), nullptr, 10) * 1024;
}

struct Process {
  pid_t parent = 0;
  std::int64_t cpu_ticks = 0;
  std::uint64_t memory_pages = 0;
};

std::optional<Process> read_process(const std::string& pid) {
  const std::string text = contents(concat("/proc/", pid, "/stat"));
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  Process process;
  long user = 0;
  long system = 0;
  long waited_user = 0;
  long waited_system = 0;
  long pages = 0;
  int parent = 0;
  const int got = std::sscanf(text.c_str() + name_end + 1,
                              " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld %ld %ld %*d %*d %*d %*d %*u %*u %ld",
                              &parent, &user, &system, &waited_user, &waited_system, &pages);
  if (got != 6) return std::nullopt;
  process.parent = parent;
  process.cpu_ticks = user + system + waited_user + waited_system;
  process.memory_pages = pages > 0 ? static_cast<std::uint64_t>(pages) : 0;
  return process;
}

}  // namespace

std::string Shortage::now() const {
  double load = 0;
  if (max_load && ::getloadavg(&load, 1) == 1 && load > *max_load) {
    char text[96];
    std::snprintf(text, sizeof text, "the load is %.1f, above the limit of %.1f", load, *max_load);
    return text;
  }
  if (min_free_bytes) {
    const std::uint64_t free_bytes = memory_line("MemAvailable:");
    if (free_bytes < *min_free_bytes) {
      return concat("only ", format_size(free_bytes), " of memory is free, less than ", format_size(*min_free_bytes));
    }
  }
  return {};
}

ProcessUse use_of_descendants() {
  std::map<pid_t, Process> all;
  DIR* folder = ::opendir("/proc");
  if (folder == nullptr) return {};
  while (const dirent* entry = ::readdir(folder)) {
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    if (auto process = read_process(entry->d_name)) all[std::atoi(entry->d_name)] = *process;
  }
  ::closedir(folder);

  ProcessUse use;
  const pid_t us = ::getpid();
  const std::int64_t tick_us = 1'000'000 / ::sysconf(_SC_CLK_TCK);
  const auto page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  for (const auto& [pid, process] : all) {
    pid_t above = process.parent;
    for (auto it = all.find(above); above != us && it != all.end(); it = all.find(above)) above = it->second.parent;
    if (above != us) continue;
    // What a helper has waited for is counted with the attempts that have ended.
    if (process.parent != us) use.cpu_us += process.cpu_ticks * tick_us;
    use.memory_bytes += process.memory_pages * page_bytes;
  }
  return use;
}

std::uint64_t machine_memory_bytes() {
  return memory_line("MemTotal:");
}

}  // namespace drover
