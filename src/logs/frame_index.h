// The records of a frame by attempt. A frame holds the output of many attempts; without the index, reading them one
// after another would mean walking through the whole frame for each.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "logs/record.h"

namespace drover {

class FrameIndex {
 public:
  /// What it pointed to before is forgotten. The frame outlives it.
  void build(std::string_view frame);

  /// In the order in which they stand there.
  const std::vector<LogRecord>& records() const { return records_; }
  /// The attempt's, in order, until `take` says to stop; so does this.
  template <class Take>
  bool each(const LogKey& key, Take&& take) const {
    const auto found = attempts_.find(key);
    if (found == attempts_.end()) return true;
    for (std::uint32_t at = found->second.first;; at = next_[at]) {
      if (!take(records_[at])) return false;
      if (at == found->second.last) return true;
    }
  }
  /// Whether one of the attempt's records ends within a line, which may go on in another one.
  bool cuts_lines(const LogKey& key) const {
    const auto found = attempts_.find(key);
    return found != attempts_.end() && found->second.cuts_lines;
  }
  /// Whose record holds this place of the frame; nothing: it is between records.
  const LogKey* key_at(const char* place) const;

 private:
  struct OfAttempt {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    bool cuts_lines = false;
  };
  struct KeyHash {
    std::size_t operator()(const LogKey& key) const {
      std::uint64_t value = key.item.value * 0x9e3779b97f4a7c15 + key.attempt.value;
      value = (value ^ (value >> 29)) * 0xbf58476d1ce4e5b9 + key.job.value;
      return value ^ (value >> 32);
    }
  };

  std::vector<LogRecord> records_;
  std::vector<std::uint32_t> next_;  // of the same attempt
  std::unordered_map<LogKey, OfAttempt, KeyHash> attempts_;
};

}  // namespace drover
