// What the targets share. Each is one small file with one fuzz_one(): whatever bytes it is given, nothing may crash,
// and what holds for all of them is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/check.h"

namespace drover {

void fuzz_one(std::string_view bytes);

/// Bytes taken from the front to decide something with.
class Choices {
 public:
  explicit Choices(std::string_view bytes) : rest_(bytes) {}

  std::size_t below(std::size_t bound) {
    if (rest_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(rest_.front());
    rest_.remove_prefix(1);
    return byte % bound;
  }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

/// A folder for this process alone. `fuzz/run` has put $TMPDIR into memory, and sweeps it afterwards.
inline const std::string& own_folder() {
  static const std::string path = [] {
    std::string name = std::filesystem::temp_directory_path() / "drover-fuzz-XXXXXX";
    DROVER_CHECK(mkdtemp(name.data()) != nullptr, "there is room for a folder");
    return name;
  }();
  return path;
}

}  // namespace drover
