// Looking for a regular expression in the logs of many attempts, on all cores. Hits come in the order in which the
// attempts were given.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "logs/extents.h"
#include "logs/record.h"

namespace drover {

struct SearchOptions {
  std::string pattern;  // as RE2 understands it
  bool ignore_case = false;
  bool only_stderr = false;
  std::int64_t since_ms = 0;
  std::size_t context = 0;  // lines before and after
  bool only_count = false;
  std::size_t threads = 1;
};

/// One line that is shown.
struct SearchHit {
  LogKey key;
  LogStream stream = LogStream::out;
  std::int64_t time_ms = 0;
  std::uint64_t line = 0;  // from 1, in this attempt
  bool matches = true;     // else it stands near one that does
  bool after_gap = false;  // lines were left out before it; only with context
  std::string_view text;   // without its newline
};

/// A part of a segment that could not be searched.
struct UnsearchedLog {
  std::uint64_t segment = 0;
  std::uint64_t parts = 0;
  std::uint64_t bytes = 0;     // as they are stored
  std::uint64_t attempts = 0;  // that may have printed something there
  std::string reason;          // of the first part
};

struct SearchCounts {
  std::uint64_t lines = 0;
  std::uint64_t attempts = 0;             // with at least one such line
  std::vector<UnsearchedLog> unsearched;  // in the order of their numbers; empty: all was searched

  /// That not everything was searched, and what was not. Only if there is such.
  Error incomplete() const;
};

/// An attempt to look into.
struct SearchTarget {
  LogKey key;
  ExtentList extents;
  std::uint64_t bytes = 0;  // about
};

class LogSearch {
 public:
  /// Gets hits one by one, on any thread but never two at a time; `false` ends the search.
  using Take = std::function<bool(const SearchHit&)>;

  /// The error says what is wrong with the pattern.
  static Result<std::unique_ptr<LogSearch>> start(const std::string& folder, SearchOptions options, Take take);
  ~LogSearch();

  /// Hands over a target; waits when many are under way. False: the search has ended.
  bool add(SearchTarget target);
  SearchCounts finish();

 private:
  struct State;
  explicit LogSearch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace drover
