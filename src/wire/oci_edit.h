// Changes to a container's config.json, in the words of CDI. All that is not changed stays as it was written.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/cdi_spec.h"
#include "wire/json_text.h"

namespace drover {

/// What a container's spec says of itself, as far as it decides which devices it is given.
struct OciFacts {
  struct Mount {
    std::string source;
    std::string destination;
  };

  std::string root;                      // its file system: absolute, or below the bundle
  std::vector<std::string> environment;  // "NAME=value"
  std::map<std::string, std::string> annotations;
  std::vector<Mount> mounts;
  bool is_privileged = false;  // CAP_SYS_ADMIN is in its bounding set

  /// The last value of a variable; nullptr: it is not set.
  const char* variable(std::string_view name) const;
};

Result<OciFacts> oci_facts(const JsonText& config);

/// Applies edits whose device nodes have their numbers. Variables replace by name, devices and mounts by path; mounts
/// are then sorted by depth. An error names the member of the spec that is not what OCI says it is.
Result<void> apply_edits(JsonText& config, const CdiEdits& edits);

/// Hooks in OCI's words that come before those of the same stage that are there.
Result<void> prepend_hooks(JsonText& config, const JsonText& hooks);

/// Removes the hooks of a stage whose program has one of these names.
void remove_hooks(JsonText& config, std::string_view stage, const std::vector<std::string_view>& programs);

}  // namespace drover
