// Looking for a regular expression in what one attempt printed: the part that all searches share.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "logs/frame_sieve.h"
#include "logs/lines.h"
#include "logs/log_reader.h"
#include "logs/log_search.h"

namespace re2 {
class RE2;
}

namespace drover {

/// What is searched for, ready to be used. By several threads at a time.
class SearchPattern {
 public:
  /// The error says what is wrong with the pattern.
  static Result<std::unique_ptr<const SearchPattern>> parse(const SearchOptions& options);
  ~SearchPattern();
  SearchPattern(const SearchPattern&) = delete;
  SearchPattern& operator=(const SearchPattern&) = delete;

  const SearchOptions& options() const { return options_; }
  const re2::RE2& expression() const { return *expression_; }
  /// It asks for the ends of the text, which is the line, or sets what ^ and $ mean itself.
  bool is_line_by_line() const { return is_line_by_line_; }
  const LiteralParts& literal_parts() const { return parts_; }

 private:
  SearchPattern(SearchOptions options, std::unique_ptr<re2::RE2> expression);

  const SearchOptions options_;
  const std::unique_ptr<re2::RE2> expression_;
  const bool is_line_by_line_;
  const LiteralParts parts_;
};

class AttemptSearch {
 public:
  /// The pattern outlives it. `emit` gets hits in their order; `false` ends the search.
  AttemptSearch(const SearchPattern& pattern, const LogKey& key, std::function<bool(const SearchHit&)> emit)
      : pattern_(pattern), options_(pattern.options()), key_(key), emit_(std::move(emit)) {}

  /// The next lines of the attempt. False: `emit` wants no more.
  bool look(const LineBlock& block);
  /// Whole lines that cannot match; only where no line before or after a match is wanted.
  void pass_over(std::string_view lines);
  std::uint64_t matches() const { return matches_; }

 private:
  struct Before {
    std::uint64_t number;
    LineBlock of;
    std::string text;
  };

  bool matches(std::string_view line) const;
  bool look_fast(const LineBlock& block, bool wanted);
  bool look_with_context(const LineBlock& block, bool wanted);
  bool hit(const LineBlock& block, std::uint64_t number, std::string_view text, bool is_match);

  const SearchPattern& pattern_;
  const SearchOptions& options_;
  const LogKey key_;
  const std::function<bool(const SearchHit&)> emit_;
  std::uint64_t line_ = 0;
  std::uint64_t matches_ = 0;
  std::uint64_t last_shown_ = 0;
  std::size_t after_left_ = 0;
  std::deque<Before> before_;
};

/// What a search could not read. Attempts share frames, so a part may be met many times.
class UnsearchedParts {
 public:
  void note(const std::vector<LogDamage>& of_one_attempt);
  void add(const UnsearchedParts& others);
  /// In the order of their segments.
  std::vector<UnsearchedLog> list() const;

 private:
  struct OfSegment {
    std::map<std::uint64_t, std::uint64_t> parts;  // where each begins, and its size
    std::uint64_t attempts = 0;
    std::string reason;
  };
  std::map<std::uint64_t, OfSegment> segments_;
};

}  // namespace drover
