#include <algorithm>
#include <boost/json/array.hpp>
#include <cctype>
#include <charconv>
#include <functional>
#include <map>
#include <set>

#include "base/text.h"
#include "wire/aws/bad_input.h"
#include "wire/aws/input.h"

namespace drover::aws {
namespace {

namespace json = boost::json;
using Value = std::expected<json::value, BadInput>;

/// More elements than any operation takes: their numbers are a client's own.
constexpr std::uint64_t kHighestNumber = 1'000'000;

/// Goes through the parameters by the description, and knows which of them it has met.
class QueryReader {
 public:
  QueryReader(const QueryPairs& pairs, QueryDialect dialect) : dialect_(dialect) {
    for (const auto& [name, value] : pairs) repeated_ = parameters_.emplace(name, &value).second ? repeated_ : &name;
  }

  Input read(const Shape& input) {
    if (repeated_ != nullptr) return within(shown_name(*repeated_), {{}, "was sent twice"});
    auto out = read_structure(input, "");
    if (!out) return std::unexpected(std::move(out.error()));
    for (const auto& [name, value] : parameters_) {
      if (!met_.contains(name)) return within(shown_name(name), {{}, "is not a parameter that this operation has"});
    }
    return std::move(out->get_object());
  }

 private:
  bool has(const std::string& name) const {
    if (parameters_.contains(name)) return true;
    const auto below = parameters_.lower_bound(name + ".");
    return below != parameters_.end() && below->first.starts_with(name + ".");
  }

  /// The numbers behind "NAME.", in order.
  std::set<std::uint64_t> numbers(const std::string& name) const {
    std::set<std::uint64_t> out;
    const std::string prefix = name + ".";
    for (auto it = parameters_.lower_bound(prefix); it != parameters_.end() && it->first.starts_with(prefix); ++it) {
      std::uint64_t number = 0;
      const char* const first = it->first.data() + prefix.size();
      const char* const last = it->first.data() + it->first.size();
      const auto [end, error] = std::from_chars(first, last, number);
      const bool is_canonical = *first != '0' && (end == last || *end == '.');
      if (error == std::errc() && is_canonical && number >= 1 && number <= kHighestNumber) out.insert(number);
    }
    return out;
  }

  std::string wire_name(const Member& member) const {
    std::string name = member.query_name;
    if (dialect_ == QueryDialect::ec2) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
    return name;
  }

  Value read_structure(const Shape& shape, const std::string& prefix) {
    json::object out;
    for (const Member& member : shape.members) {
      std::string name = prefix + wire_name(member);
      // The name of a flat list is that of its elements. One without elements is sent by its own.
      const bool is_empty_list = member.shape->kind == Kind::list && !has(name) && has(prefix + member.wire_name);
      if (is_empty_list) name = prefix + member.wire_name;
      if (!has(name)) continue;
      const bool is_flat = member.flat || dialect_ == QueryDialect::ec2;
      auto value = member.shape->kind == Kind::map ? read_map(*member.shape, name, is_flat, member)
                                                   : read_value(*member.shape, name, is_flat);
      if (!value) return within(member.name, std::move(value.error()));
      out[member.name] = std::move(*value);
    }
    return out;
  }

  Value read_list(const Shape& shape, const std::string& name, bool flat) {
    json::array out;
    // An empty list is sent as a name without a value.
    if (const auto empty = parameters_.find(name); empty != parameters_.end() && empty->second->empty()) {
      met_.insert(name);
    }
    const std::string prefix = flat ? name : name + ".member";
    for (const std::uint64_t number : numbers(prefix)) {
      auto element = read_value(*shape.element, concat(prefix, ".", number), flat);
      if (!element) return within(concat("[", out.size(), "]"), std::move(element.error()));
      out.push_back(std::move(*element));
    }
    return out;
  }

  Value read_map(const Shape& shape, const std::string& name, bool flat, const Member& names = {}) {
    json::object out;
    const std::string prefix = flat ? name : name + ".entry";
    for (const std::uint64_t number : numbers(prefix)) {
      const std::string entry = concat(prefix, ".", number);
      const auto key = parameters_.find(concat(entry, ".", names.key_name));
      if (key == parameters_.end()) return within(concat("[", number, "]"), {{}, "has no key"});
      met_.insert(key->first);
      auto element = read_value(*shape.element, concat(entry, ".", names.value_name), flat);
      if (!element) return within(concat("['", shown_name(*key->second), "']"), std::move(element.error()));
      out[*key->second] = std::move(*element);
    }
    return out;
  }

  Value read_value(const Shape& shape, const std::string& name, bool flat) {
    if (shape.kind == Kind::structure) return read_structure(shape, name + ".");
    if (shape.kind == Kind::list) return read_list(shape, name, flat);
    if (shape.kind == Kind::map) return read_map(shape, name, flat);
    const auto found = parameters_.find(name);
    if (found == parameters_.end()) return bad("must be a single value");
    met_.insert(found->first);
    return read_text(shape, *found->second);
  }

  const QueryDialect dialect_;
  std::map<std::string, const std::string*, std::less<>> parameters_;
  const std::string* repeated_ = nullptr;
  std::set<std::string, std::less<>> met_;
};

}  // namespace

Input read_query_input(const Shape& input, const QueryPairs& pairs, QueryDialect dialect) {
  auto out = QueryReader(pairs, dialect).read(input);
  if (!out) return out;
  if (auto good = check_bounds(input, *out); !good) return std::unexpected(std::move(good.error()));
  return out;
}

}  // namespace drover::aws
