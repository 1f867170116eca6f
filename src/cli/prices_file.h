// --prices: an administrator's prices of machines.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/shapes/price_list.h"

namespace drover {

/// Empty: no file is named.
Result<PriceList> read_prices_file(const std::string& path);

}  // namespace drover
