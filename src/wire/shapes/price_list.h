// What machines cost by their shapes: the tables of machine types, and an administrator's file of prices above them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/cost.h"
#include "base/result.h"

namespace drover {

/// Micro-dollars per hour. Nothing: not known.
struct ShapePrices {
  std::optional<std::int64_t> on_demand;
  std::optional<std::int64_t> spot;
};

class PriceList {
 public:
  /// `offered` is what the shape's provider has said. The file counts before that, and that before the tables. Where
  /// only one of the two prices is known, it is both; a spot price is never above the price on demand.
  HourlyPrice price_of(const std::string& shape, const ShapePrices& offered, bool is_spot) const;

 private:
  friend Result<PriceList> read_prices(std::string_view text, const std::string& path);

  std::map<std::string, ShapePrices> by_shape_;
};

/// YAML or JSON: {"shapes": {"NAME": {"price": 0.085, "spot_price": 0.036}}}, in dollars per hour. `path` is for
/// messages.
Result<PriceList> read_prices(std::string_view text, const std::string& path);

}  // namespace drover
