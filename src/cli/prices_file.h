// --prices: an administrator's prices of machines.
#pragma once

#include <string>

#include "base/result.h"
#include "wire/shapes/price_list.h"

namespace drover {

Result<PriceList> read_prices_file(const std::string& path);

}  // namespace drover
