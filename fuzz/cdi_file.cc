// Files of CDI, which other programs of the machine write.
#include "fuzzed.h"
#include "wire/cdi_spec.h"

namespace drover {

void fuzz_one(std::string_view bytes) {
  for (const bool is_json : {true, false}) {
    const auto spec = cdi_from_text(bytes, is_json);
    if (!spec || cdi_problem(*spec)) continue;
    auto again = cdi_from_text(cdi_to_json(*spec), true);
    DROVER_CHECK(again.has_value(), "what is written is read back");
    again->version = spec->version;
    DROVER_CHECK(*again == *spec, "and says the same");
  }
  if (const auto name = parse_cdi_name(bytes)) {
    DROVER_CHECK(name->kind + "=" + name->device == bytes, "a name is its parts");
  }
}

}  // namespace drover
