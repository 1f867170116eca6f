// Work of many holders that wait for a few threads: each holder's in the order in which it came, the holders in turn.
// A holder with a thousand pieces of work delays another's by one piece, not by a thousand.
#pragma once

#include <cstddef>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace drover {

/// For one thread at a time.
template <class Work>
class FairQueue {
 public:
  /// So much of one holder's is done at the same time.
  explicit FairQueue(std::size_t at_once = std::numeric_limits<std::size_t>::max()) : at_once_(at_once) {}

  void push(const std::string& holder, Work work) {
    lines_[holder].waiting.push_back(std::move(work));
    ++size_;
  }

  struct Taken {
    std::string holder;
    Work work;
  };
  /// The next that may begin; finished() is called when it is done. Nothing: none may, for now.
  std::optional<Taken> pop() {
    auto it = lines_.upper_bound(last_);
    for (std::size_t i = 0; i < lines_.size(); ++i, ++it) {
      if (it == lines_.end()) it = lines_.begin();
      Line& line = it->second;
      if (line.waiting.empty() || line.under_way >= at_once_) continue;
      Taken taken{it->first, std::move(line.waiting.front())};
      line.waiting.pop_front();
      ++line.under_way;
      --size_;
      last_ = it->first;
      return taken;
    }
    return std::nullopt;
  }
  void finished(const std::string& holder) {
    const auto it = lines_.find(holder);
    if (it == lines_.end()) return;
    --it->second.under_way;
    if (it->second.under_way == 0 && it->second.waiting.empty()) lines_.erase(it);
  }

  /// Nothing waits.
  bool empty() const { return size_ == 0; }

 private:
  struct Line {
    std::deque<Work> waiting;
    std::size_t under_way = 0;
  };

  std::size_t at_once_;
  std::map<std::string, Line> lines_;
  std::string last_;  // whose turn it was
  std::size_t size_ = 0;
};

}  // namespace drover
