// drover version: version, commit, schema and build.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "build_info.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "store/schema.h"

namespace drover {

void add_version(const Verb& app, Invocation& /*invocation*/) {
  auto flags = std::make_shared<CommonFlags>();
  Verb verb = app.add_subcommand("version", "Print version, commit, schema and build");
  add_common_flags(verb, *flags);
  verb.footer("Example:\n  drover version --json");
  verb.callback([flags] {
    if (flags->json) {
      show("{}\n", boost::json::serialize(boost::json::object{{"version", DROVER_VERSION},
                                                              {"commit", DROVER_COMMIT},
                                                              {"schema", kSchemaVersion},
                                                              {"build", DROVER_BUILD}}));
    } else {
      show("drover {}\ncommit {}\nschema {}\nbuild  {}\n", DROVER_VERSION, DROVER_COMMIT, kSchemaVersion, DROVER_BUILD);
    }
  });
}

}  // namespace drover
