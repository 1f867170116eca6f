// What an item may use, and what its worker must have.
#include "base/text.h"
#include "wire/fields/sections.h"
#include "wire/fields/storage.h"

namespace drover {
namespace {

void read_accelerators(JobReader& reader, const JobField& field, Submission& job) {
  reader.accelerators(field.name, job.ask.accelerators);
}

// Short for accelerators of the first kind, as which they are written.
void read_gpus(JobReader& reader, const JobField& field, Submission& job) {
  const Node* given = reader.find(field.name);
  if (given == nullptr) return;
  const Node* all = reader.find("accelerators");
  if (all != nullptr && all->find(kAcceleratorNames[0]) != nullptr) {
    return reader.complain(*given, field.name, concat("duplicates 'accelerators.", kAcceleratorNames[0], "'"),
                           "keep one of the two");
  }
  reader.whole(field.name, job.ask.accelerators[0]);
}

}  // namespace

std::span<const JobField> resource_fields() {
  using enum FieldKind;
  static constexpr JobField kFields[] = {
      {.name = "cpus",
       .kind = real,
       .example = "0.5",
       .meaning = "CPUs per item, as both request and limit (default: a request of 1, no limit)",
       .least = 1,
       .most = 100'000'000,
       .flag = {FlagGroup::limits, {}, "CPU limit per item, such as 2 or 0.5"},
       .stored = kept<&ItemLimits::milli_cpus>()},
      {.name = "memory",
       .kind = size,
       .example = "\"4GiB\"",
       .meaning = "Memory per item, as both request and limit",
       .least = std::int64_t{4} << 20,
       .most = kMost64,
       .flag = {FlagGroup::limits,
                {},
                "Memory limit per item; an item that exceeds it is killed and reported as out of memory"},
       .stored = kept<&ItemLimits::memory_bytes>()},
      {.name = "gpus",
       .kind = whole,
       .example = "1",
       .meaning = "GPUs per item; short for `accelerators: {nvidia: N}`",
       .most = kMostAccelerators,
       .flag = {FlagGroup::job, {}, "GPUs per item; short for --accelerator nvidia=N"},
       .stored = {.read = read_gpus}},
      {.name = "accelerators",
       .kind = accelerators,
       .example = "{\"nvidia\": 1}",
       .meaning = "Accelerators per item, by kind: `nvidia`, `amd` or `neuron`",
       .most = kMostAccelerators,
       .flag = {FlagGroup::job, "KIND=N", "Accelerators per item: nvidia, amd or neuron", "--accelerator"},
       .stored = {.read = read_accelerators, .write = write<&Resources::accelerators>}},
      {.name = "pids",
       .kind = whole,
       .example = "256",
       .meaning = "Maximum number of processes and threads per item",
       .least = 1,
       .most = kMost32,
       .flag = {FlagGroup::limits, {}, "Maximum number of processes and threads per item (default: 4096)"},
       .stored = kept<&ItemLimits::processes>()},
      {.name = "nice",
       .kind = whole,
       .example = "10",
       .meaning = "Add this to the nice value of items; a positive value lowers their priority",
       .least = -20,
       .most = 19,
       .flag = {FlagGroup::limits},
       .stored = kept<&ItemLimits::nice>()},
      {.name = "log_limit",
       .kind = size,
       .example = "\"1MiB\"",
       .meaning = "Maximum output to keep per attempt, from its beginning and its end; 0: no limit (default: 64MiB)",
       .least = 1024,
       .flag = {FlagGroup::limits},
       .stored = kept<&ItemLimits::log_bytes>()},
      {.name = "require",
       .kind = labels,
       .example = "{\"zone\": \"a\"}",
       .meaning = "Labels that a worker must have, with exactly these values",
       .flag = {FlagGroup::job, "NAME=VALUE", "Label that a worker must have"},
       .stored = kept_and_shown<&JobSpec::require>()},
      {.name = "spot",
       .kind = choice,
       .example = "\"never\"",
       .meaning = "Whether items run on spot machines, which their provider may take away: `prefer` (there first), "
                  "`only` or `never` (default: prefer)",
       .pattern = "prefer|only|never",
       .flag = {FlagGroup::job, {}, "Spot machines: prefer, only or never (default: prefer)"},
       .stored = kept_and_shown<&SpotRules::use>()},
      {.name = "on_demand_after_losses",
       .kind = whole,
       .example = "1",
       .meaning = "With `spot: prefer`: an item that was lost so often waits for a machine that is not a spot machine; "
                  "0: it runs on spot machines however often it is lost (default: 3)",
       .most = kMost32,
       .flag = {FlagGroup::job, {}, "Keep an item from spot machines after so many losses; 0: never (default: 3)"},
       .stored = kept_and_shown<&SpotRules::on_demand_after_losses>()},
      {.name = "on_demand_after",
       .kind = time,
       .example = "\"2m\"",
       .meaning = "With `spot: prefer`: on-demand machines are launched when no spot machine could be had for so long; "
                  "and an item that was lost too often runs anywhere when it has waited so long (default: 10m)",
       .most = kLongest,
       .flag = {FlagGroup::job,
                {},
                "Launch on-demand machines when spot machines are lacking for so long (default: 10m)"},
       .stored = kept_and_shown<&SpotRules::on_demand_after_ms>()},
  };
  return kFields;
}

}  // namespace drover
