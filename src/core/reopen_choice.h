// Which settled items a retry is about.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/words.h"

namespace drover {

/// As many items as one command reopens. Applying them takes the core well under a millisecond.
inline constexpr std::size_t kReopenPage = 256;
/// As many as a choice may name one by one.
inline constexpr std::size_t kMostChosenItems = 10'000;

/// Items that ended without success. What is not said matches all of them.
struct ReopenChoice {
  bool failed = true;                 // those that failed, else only those that were cancelled
  std::vector<ItemIndex> items = {};  // in order
  std::optional<std::int32_t> exit_code = {};
  std::optional<std::int32_t> signal = {};
  std::optional<Ending> ending = {};

  /// Whether it is narrower than all that failed or were cancelled, or all that were cancelled.
  bool has_conditions() const { return !items.empty() || exit_code || signal || ending; }
  bool operator==(const ReopenChoice&) const = default;
};

struct Attempt;
/// Whether this attempt settled an item that is meant.
bool matches(const ReopenChoice& choice, const Attempt& attempt);

}  // namespace drover
