#pragma once

#include <boost/json.hpp>
#include <string>
#include <vector>

namespace drover {

/// A machine of a fleet that has not joined yet, as the server tells it: it will be a worker soon.
struct ComingMachine {
  std::string fleet;
  std::string name;
  std::string state;  // requested or starting
  std::string shape;
  boost::json::value told;  // the machine, whole
};

/// `answer` is that of /api/v1/fleets.
std::vector<ComingMachine> coming_machines(const boost::json::value& answer);

}  // namespace drover
