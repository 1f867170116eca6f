// The JSON object in a request's body, field by field: each has a reader of its own, and a name that has none is
// refused.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace drover {

class BodyFields {
 public:
  /// What is wrong with the value, as in "field 'limit' is not a whole number"; empty: nothing.
  using Read = std::function<std::string(const boost::json::value&)>;

  void add(std::string_view name, Read read) { readers_.emplace_back(name, std::move(read)); }
  /// The first thing that is wrong is the answer. No body is an empty object, and what is null is not said.
  Result<void> read(std::string_view body, std::string_view what) const;
  /// The same of an object that has been read already.
  Result<void> read(const boost::json::object& object) const;

  static Read whole(std::int64_t least, std::int64_t most, std::function<void(std::int64_t)> take);
  static Read real(double least, double most, std::function<void(double)> take);
  static Read text(std::size_t most_bytes, std::string& out);
  static Read flag(bool& out);
  static Read names(std::vector<std::string>& out);  // a list of them
  static Read one_of(std::vector<std::string_view> choices, std::string& out);
  /// A time such as "1h", in milliseconds.
  static Read time(std::optional<std::int64_t>& out_ms);
  /// A time or a size, as a text or a bare number: what base/units.h reads. Empty: it is neither.
  static std::string measure_in(const boost::json::value& value);

  template <class Number>
  static Read whole(std::int64_t least, std::int64_t most, Number& out) {
    return whole(least, most, [&out](std::int64_t number) { out = static_cast<Number>(number); });
  }

 private:
  std::string names() const;

  std::vector<std::pair<std::string_view, Read>> readers_;
};

}  // namespace drover
