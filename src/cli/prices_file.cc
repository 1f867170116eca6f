#include "cli/prices_file.h"

#include "base/text.h"
#include "keys/private_file.h"

namespace drover {

Result<PriceList> read_prices_file(const std::string& path) {
  if (path.empty()) return PriceList();
  const auto text = read_file(path);
  if (!text) {
    return fail(ErrorCode::bad_input, concat("cannot read prices file: ", text.error().message), "check the path");
  }
  return read_prices(*text, path);
}

}  // namespace drover
