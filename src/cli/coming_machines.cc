#include "cli/coming_machines.h"

#include "cli/answer.h"

namespace drover {

std::vector<ComingMachine> coming_machines(const boost::json::value& answer) {
  std::vector<ComingMachine> out;
  for (const boost::json::value& fleet : list_in(answer, "fleets")) {
    for (const boost::json::value& it : list_in(fleet, "machines")) {
      const std::string state = text_in(it, "state");
      if (state != "requested" && state != "starting") continue;
      out.push_back({.fleet = text_in(fleet, "name"),
                     .name = text_in(it, "name"),
                     .state = state,
                     .shape = text_in(it, "shape"),
                     .told = it});
    }
  }
  return out;
}

}  // namespace drover
