#include "core/unfit.h"

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

std::string cpus_text(std::uint64_t milli_cpus) {
  std::string text = std::to_string(milli_cpus / 1000);
  if (milli_cpus % 1000 != 0) {
    std::string rest = std::to_string(1000 + milli_cpus % 1000).substr(1);
    while (rest.back() == '0') rest.pop_back();
    text += "." + rest;
  }
  return text;
}

std::string labels_text(const Labels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += concat(text.empty() ? "" : ", ", name, "=", value);
  return text;
}

}  // namespace

std::optional<std::string> what_nobody_has(const Job& job, const std::vector<Worker>& workers) {
  if (std::ranges::any_of(workers, [&](const Worker& it) { return suits(it, job); })) return std::nullopt;
  const std::string cpus = concat(cpus_text(job.ask.milli_cpus), job.ask.milli_cpus == 1000 ? " CPU" : " CPUs");
  const std::string memory = concat(format_size(job.ask.memory_bytes), " of memory");
  const std::string labels = labels_text(job.require);
  const std::string all = plural(workers.size(), "worker");
  if (workers.empty()) return concat("a worker with ", labels.empty() ? cpus : labels, "; there is none at all");
  Resources most;
  bool labelled = false;
  for (const Worker& worker : workers) {
    most = most.at_least(worker.has);
    labelled = labelled || has_all(worker.labels, job.require);
  }
  if (!labelled)
    return concat("a worker with ", labels, "; none of ", all, " has ", job.require.size() > 1 ? "them" : "it");
  if (job.ask.milli_cpus > most.milli_cpus) {
    return concat(cpus, "; the largest of ", all, " has ", cpus_text(most.milli_cpus));
  }
  if (job.ask.memory_bytes > most.memory_bytes) {
    return concat(memory, "; the largest of ", all, " has ", format_size(most.memory_bytes));
  }
  std::string accelerators;
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    const std::uint64_t asked = job.ask.accelerators[kind];
    if (asked == 0) continue;
    const std::string said = concat(asked, " ", kAcceleratorNames[kind], asked == 1 ? " accelerator" : " accelerators");
    if (asked > most.accelerators[kind]) {
      return concat(said, "; ",
                    most.accelerators[kind] == 0 ? concat("none of ", all, " has any")
                                                 : concat("the largest of ", all, " has ", most.accelerators[kind]));
    }
    accelerators += concat(", ", said);
  }
  return concat("a worker with ", cpus, ", ", memory, accelerators, labels.empty() ? "" : concat(" and ", labels),
                "; none of ", all, " has all of that");
}

}  // namespace drover
