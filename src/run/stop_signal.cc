#include "run/stop_signal.h"

#include <signal.h>

#include <cctype>

#include "base/text.h"
#include "base/units.h"
#include "base/words.h"

namespace drover {

int stop_signal_of(const ImageDefaults& image) {
  if (const auto number = parse_number(image.stop_signal); number) {
    return *number > 0 && *number <= static_cast<std::uint64_t>(SIGRTMAX) ? static_cast<int>(*number) : SIGTERM;
  }
  std::string name = image.stop_signal;
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  if (!name.starts_with("SIG")) name = concat("SIG", name);
  if (name == "SIGRTMIN") return SIGRTMIN;
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    if (signal_name(signal) == name) return signal;
  }
  return SIGTERM;
}

}  // namespace drover
