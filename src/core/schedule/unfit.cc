#include "core/schedule/unfit.h"

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

std::string fleets_text(const std::vector<std::string>& fleets) {
  std::string text;
  for (const std::string& fleet : fleets) text += concat(text.empty() ? "fleet " : " or ", "'", fleet, "'");
  return text;
}

}  // namespace

std::string what_nobody_has(const Demand& demand, const UnfitWorkers& workers) {
  const Resources& ask = demand.ask;
  const Resources& most = workers.most;
  const std::string cpus = concat(cpus_text(ask.milli_cpus), ask.milli_cpus == 1000 ? " CPU" : " CPUs");
  const std::string memory = concat(format_size(ask.memory_bytes), " of memory");
  const std::string labels = labels_text(demand.require);
  if (workers.serving == 0) {
    return concat("a worker of ", fleets_text(demand.fleets), "; none of ", plural(workers.all, "worker"),
                  " belongs to ", demand.fleets.size() > 1 ? "them" : "it");
  }
  const std::string all = concat(plural(workers.serving, "worker"),
                                 demand.fleets.empty() ? "" : concat(" of ", fleets_text(demand.fleets)));
  if (!workers.one_has_labels && demand.no_spot) {
    return concat("a worker that is not a spot machine", labels.empty() ? "" : concat(", with ", labels), "; none of ",
                  all, " is one");
  }
  if (!workers.one_has_labels)
    return concat("a worker with ", labels, "; none of ", all, " has ", demand.require.size() > 1 ? "them" : "it");
  if (ask.milli_cpus > most.milli_cpus) {
    return concat(cpus, "; the largest of ", all, " has ", cpus_text(most.milli_cpus));
  }
  if (ask.memory_bytes > most.memory_bytes) {
    return concat(memory, "; the largest of ", all, " has ", format_size(most.memory_bytes));
  }
  std::string accelerators;
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    const std::uint64_t asked = ask.accelerators[kind];
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
                "; none of ", all, " has all of these");
}

}  // namespace drover
