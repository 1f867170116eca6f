#include "base/nearest_word.h"

#include <algorithm>
#include <vector>

namespace drover {

std::size_t letters_apart(std::string_view one, std::string_view other) {
  // Rows of the table of distances between beginnings: the one before the last, the last, and the next.
  std::vector<std::size_t> before(other.size() + 1);
  std::vector<std::size_t> last(other.size() + 1);
  std::vector<std::size_t> next(other.size() + 1);
  for (std::size_t j = 0; j <= other.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= one.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t changed = last[j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
      next[j] = std::min({last[j] + 1, next[j - 1] + 1, changed});
      const bool swapped = i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1];
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, next);
  }
  return last[other.size()];
}

std::string nearest_word(std::string_view written, std::span<const std::string> known) {
  std::string nearest;
  std::size_t least = std::max<std::size_t>(1, written.size() / 3) + 1;
  for (const std::string& word : known) {
    const std::size_t apart = letters_apart(written, word);
    if (apart >= least) continue;
    least = apart;
    nearest = word;
  }
  if (!nearest.empty()) return nearest;
  const auto longer = std::ranges::find_if(
      known, [&](const std::string& word) { return written.size() > 1 && word.starts_with(written); });
  return longer == known.end() ? "" : *longer;
}

}  // namespace drover
