#include "wire/shapes/price_list.h"

#include <algorithm>
#include <vector>

#include "base/money.h"
#include "base/name.h"
#include "base/nearest_word.h"
#include "base/text.h"
#include "wire/shapes/machine_type.h"
#include "wire/yaml_document.h"

namespace drover {
namespace {

constexpr std::string_view kPricesExample = "write, for example, shapes: {c5.large: {price: 0.085, spot_price: 0.036}}";

std::unexpected<Error> wrong(const std::string& path, Position place, std::string_view what,
                             std::string_view next = kPricesExample) {
  const std::string line = place.line == 0 ? "" : concat(":", place.line);
  return fail(ErrorCode::bad_input, concat("prices file ", path, line, ": ", what), std::string(next));
}

std::unexpected<Error> unknown_field(const std::string& path, const Node::Field& field,
                                     const std::vector<std::string>& known) {
  const std::string meant = nearest_word(field.name, known);
  return wrong(path, field.place, concat("unknown field '", field.name, "'"),
               meant.empty() ? std::string(kPricesExample) : concat("did you mean '", meant, "'?"));
}

Result<std::int64_t> read_price(const std::string& path, const std::string& shape, const Node::Field& field) {
  const std::string what = concat("'", field.name, "' of shape '", shape, "'");
  if (field.value.kind != Node::Kind::number)
    return wrong(path, field.place, concat(what, " is not a number: dollars per hour"));
  const auto price = parse_dollars(field.value.text);
  if (!price) return wrong(path, field.place, concat(what, ": ", price.error().message));
  if (*price > kMostHourlyMicrodollars) {
    return wrong(path, field.place,
                 concat(what, " is more than ", format_dollars(kMostHourlyMicrodollars), " per hour"));
  }
  return price;
}

Result<ShapePrices> read_shape(const std::string& path, const Node::Field& shape) {
  const std::string what = concat("shape '", shape.name, "'");
  if (!is_valid_name(shape.name)) {
    return wrong(path, shape.place, concat(what, " is not a valid name"),
                 "use letters, digits, '_', '.' and '-', such as c5.large");
  }
  if (shape.value.kind != Node::Kind::object) return wrong(path, shape.place, concat(what, " has no prices"));
  ShapePrices out;
  for (const Node::Field& field : shape.value.fields) {
    const bool is_spot = field.name == "spot_price";
    if (!is_spot && field.name != "price") return unknown_field(path, field, {"price", "spot_price"});
    std::optional<std::int64_t>& price = is_spot ? out.spot : out.on_demand;
    if (price) return wrong(path, field.place, concat(what, " has '", field.name, "' twice"), "omit one of them");
    auto read = read_price(path, shape.name, field);
    if (!read) return pass(read);
    price = *read;
  }
  if (!out.on_demand && !out.spot) return wrong(path, shape.place, concat(what, " has no prices"));
  if (!out.on_demand && find_machine_type(shape.name) == nullptr) {
    return wrong(path, shape.place, concat(what, " has no 'price', and is not in the built-in price table"),
                 "add its price on demand: price: 0.1");
  }
  if (out.on_demand && out.spot && *out.spot > *out.on_demand) {
    return wrong(path, shape.place, concat(what, " has a 'spot_price' above its 'price'"),
                 "lower 'spot_price', or raise 'price', which is the on-demand price, in dollars per hour");
  }
  return out;
}

}  // namespace

HourlyPrice PriceList::price_of(const std::string& shape, const ShapePrices& offered, bool is_spot) const {
  ShapePrices known;
  const auto add = [&](const ShapePrices& more) {
    if (!known.on_demand) known.on_demand = more.on_demand;
    if (!known.spot) known.spot = more.spot;
  };
  if (const auto own = by_shape_.find(shape); own != by_shape_.end()) add(own->second);
  add(offered);
  if (const MachineType* type = find_machine_type(shape)) {
    add({type->on_demand_microdollars, type->spot_microdollars});
  }
  const std::int64_t on_demand = known.on_demand.value_or(known.spot.value_or(0));
  const std::int64_t spot = std::min(known.spot.value_or(on_demand), on_demand);
  return {.microdollars = is_spot ? spot : on_demand, .on_demand_microdollars = on_demand};
}

Result<PriceList> read_prices(std::string_view text, const std::string& path) {
  const auto root = node_from_yaml(
      text, {.what = "price list", .examples = "the example in docs/fleets.md", .has_placeholders = false});
  if (!root) return wrong(path, root.error().place, root.error().what, root.error().next);
  if (root->kind != Node::Kind::object) return wrong(path, root->place, "'shapes' is missing");
  PriceList out;
  const Node* shapes = nullptr;
  for (const Node::Field& field : root->fields) {
    if (field.name != "shapes") return unknown_field(path, field, {"shapes"});
    if (shapes != nullptr) return wrong(path, field.place, "'shapes' is set twice", "omit one of them");
    shapes = &field.value;
  }
  if (shapes == nullptr || shapes->kind != Node::Kind::object) {
    return wrong(path, shapes == nullptr ? root->place : shapes->place, "'shapes' does not list shapes by name");
  }
  for (const Node::Field& shape : shapes->fields) {
    auto prices = read_shape(path, shape);
    if (!prices) return pass(prices);
    if (!out.by_shape_.emplace(shape.name, *prices).second) {
      return wrong(path, shape.place, concat("shape '", shape.name, "' is set twice"), "omit one of them");
    }
  }
  return out;
}

}  // namespace drover
