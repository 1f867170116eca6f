#include "cli/prices_file.h"

#include <cerrno>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace drover {

Result<PriceList> read_prices_file(const std::string& path) {
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  if (!file) return std::unexpected(errno_error(errno, concat("cannot read prices file ", path), "check the path"));
  return read_prices(text, path);
}

}  // namespace drover
