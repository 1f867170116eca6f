// Items whose paths lie elsewhere for the machines that run them: /mnt/data/x becomes s3://bucket/data/x.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace drover {

/// Of several beginnings that fit the longest counts, and only whole components of a path fit: /mnt/data is no
/// beginning of /mnt/database.
class PathMap {
 public:
  /// The second of two that begin alike counts.
  void add(std::string from, std::string to);
  bool empty() const { return rules_.empty(); }

  std::string apply(std::string_view item) const;
  /// An item that is a JSON object: every text in it that is a value. All other bytes stay as they are.
  std::string apply_to_json(std::string_view item) const;

 private:
  std::vector<std::pair<std::string, std::string>> rules_;  // the longest first, without a slash at the end
};

/// "/mnt/data=s3://bucket/data", as it is written on a command line.
Result<std::pair<std::string, std::string>> map_from_word(std::string_view flag, std::string_view word);

}  // namespace drover
