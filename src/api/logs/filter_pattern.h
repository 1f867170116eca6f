// What FilterLogEvents looks for in a line: terms that must be there, "quoted phrases", ?optional ones of which one
// must be there, and -excluded ones. Capitals matter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace drover::aws {

class FilterPattern {
 public:
  /// Patterns for JSON, for columns and regular expressions are refused.
  static Result<FilterPattern> parse(std::string_view text);

  /// One without terms matches every line.
  bool matches(std::string_view line) const;

 private:
  std::vector<std::string> required_;
  std::vector<std::string> optional_;
  std::vector<std::string> excluded_;
};

}  // namespace drover::aws
