#include "cli/json_events.h"

#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <string>

namespace drover {
namespace {

// Failures come in bursts, and readers are slower than what fails.
constexpr std::size_t kMostEventsWaiting = 8192;
constexpr std::chrono::hours kForEver{24 * 365};

std::string line_of(const boost::json::object& event) {
  return boost::json::serialize(event) + "\n";
}

}  // namespace

JsonEvents::JsonEvents()
    : lines_(
          STDOUT_FILENO, [](std::uint64_t count) { return line_of({{"event", "dropped"}, {"count", count}}); },
          kMostEventsWaiting) {}

void JsonEvents::write(const boost::json::object& event) {
  lines_.write(line_of(event));
}

void JsonEvents::flush() {
  lines_.flush(kForEver);
}

}  // namespace drover
