#include "cli/shortage_flags.h"

#include <fmt/format.h>

#include "base/units.h"

namespace drover {

void add_shortage_flags(const Verb& verb, ShortageFlags& flags) {
  verb.add_option("--max-load", flags.max_load, "Do not start items while the load average is above N")
      .type_name("N")
      .positive();
  verb.add_option("--min-free-memory", flags.min_free_memory,
                  "Do not start items while less than SIZE of memory is free")
      .type_name("SIZE");
}

Result<Shortage> make_shortage(const ShortageFlags& flags) {
  Shortage shortage;
  if (flags.max_load > 0) shortage.max_load = flags.max_load;
  if (!flags.min_free_memory.empty()) {
    auto size = parse_size(flags.min_free_memory);
    if (!size) {
      return fail(ErrorCode::bad_input,
                  fmt::format("--min-free-memory '{}' is not a valid size", flags.min_free_memory),
                  "use a number with a unit, such as 512MiB or 4GiB");
    }
    shortage.min_free_bytes = *size;
  }
  return shortage;
}

}  // namespace drover
