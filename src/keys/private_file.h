// Files that hold secrets, and those beside them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "keys/secret_text.h"

namespace drover {

enum class Readers : std::uint8_t {
  owner,     // mode 0600
  everyone,  // mode 0644
};

/// Puts a whole file in the place of another: after a crash there is the old one or the new one, and once this returns
/// it is the new one. Whoever calls it is the only one to write in that folder.
Result<void> replace_file(const std::string& path, std::string_view content, Readers readers);

Result<std::string> read_file(const std::string& path);

/// The same; `bad_input` if others than its owner could read it too.
Result<SecretText> read_private_file(const std::string& path);

}  // namespace drover
