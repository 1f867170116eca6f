#include "core/sanity.h"

namespace drover {

std::optional<std::string> find_fault(const Core& core) {
  Faults faults;
  inspect_jobs(core, faults);
  inspect_workers(core, faults);
  inspect_places(core, faults);
  inspect_streams(core, faults);
  inspect_fleets(core, faults);
  return faults.first();
}

}  // namespace drover
