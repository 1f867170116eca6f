// Finds out, frame by frame, whose output may hold a match at all. Nearly every expression that people look for has a
// literal part; a frame, and an attempt in it, without that part need not be looked at line by line.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "logs/frame_index.h"
#include "logs/log_reader.h"

namespace re2 {
class FilteredRE2;
}

namespace drover {

/// What must be there for an expression to match. By several threads at a time.
class LiteralParts {
 public:
  LiteralParts(const std::string& pattern, bool ignore_case);
  ~LiteralParts();
  LiteralParts(const LiteralParts&) = delete;
  LiteralParts& operator=(const LiteralParts&) = delete;

  /// Nothing is known of the expression: everything may match.
  bool empty() const { return atoms_.empty(); }
  /// Where such parts stand in the text. `scratch` is used on the way.
  void find(std::string_view text, std::string& scratch, std::vector<std::size_t>& places) const;
  /// Whether they say something about this text.
  bool know(std::string_view text) const;

 private:
  std::unique_ptr<re2::FilteredRE2> filter_;
  std::vector<std::string> atoms_;  // in small letters, unless they are as they must stand in the text
  bool are_exact_ = false;
  bool only_ascii_ = false;  // they say nothing about text that is not
};

/// For one search, on one thread.
class FrameSieve {
 public:
  explicit FrameSieve(const LiteralParts& parts) : parts_(parts) {}

  /// False: none of the attempt's lines that lie in this frame as a whole matches.
  bool may_match(const FramePlace& place, std::string_view raw, const FrameIndex& index, const LogKey& key);

 private:
  struct Sifted {
    std::uint64_t segment = 0;
    std::uint64_t offset = 0;
    std::vector<LogKey> keys;  // of those that may match, in order, each once
  };

  const Sifted& sift(const FramePlace& place, std::string_view raw, const FrameIndex& index);

  const LiteralParts& parts_;
  std::list<Sifted> recent_;  // the latest used first
  std::string scratch_;
  std::vector<std::size_t> places_;
};

}  // namespace drover
