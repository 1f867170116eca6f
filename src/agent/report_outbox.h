// What has ended on this worker and the server does not know of yet: an ordered queue of ended attempts, whose logs are
// in the spool. A call takes a bounded part of it. What a call took stays here until the server has acknowledged it, so
// a call that fails changes nothing but who may take it next: nothing is lost, and nothing is there twice.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/lease.h"

namespace drover {

/// An attempt that has ended, with its log in the spool.
struct SpooledEnd {
  EndedAttempt ended;
  std::size_t bytes = 0;   // of its log, that travel with the report
  bool uploading = false;  // its log is sent ahead, and it is told when the server has it

  bool operator==(const SpooledEnd&) const = default;
};

class ReportOutbox {
 public:
  // A report carries at most so much. One attempt is always taken, whatever its log weighs.
  static constexpr std::size_t kMostItems = 512;
  static constexpr std::size_t kMostBytes = std::size_t{1} << 20;

  void add(SpooledEnd spooled);
  /// The server has its log: it is told with what its report says now.
  void on_uploaded(EndedAttempt ended);

  /// The oldest that no call has taken.
  std::vector<EndedAttempt> take(std::uint64_t call);
  bool has_some_to_take() const { return !ready_.empty(); }
  bool has_taken(std::uint64_t call) const { return calls_.contains(call); }
  /// The server has what the call took.
  void on_taken(std::uint64_t call);
  /// It may not have it: the next call takes it.
  void on_lost(std::uint64_t call);

  /// What to do about an attempt whose report the server refuses for good.
  struct Refused {
    Token token;
    enum class What : std::uint8_t {
      told_bare,  // it is told without its log, its usage and the words of its outcome
      given_up,   // not even that is taken: it is no longer here
    };
    What what = What::told_bare;
  };
  /// The server refused what the call took, and always will. Of several, each half is told by itself until the one that
  /// is refused is found; nothing is returned before. If the call took nothing, nothing is either.
  std::optional<Refused> on_refused(std::uint64_t call, const std::string& why);
  /// Nobody wants to know any more.
  void clear();

  /// Those that left the queue since the last call of this: their logs need not be kept.
  std::vector<Token> take_told();

  bool empty() const { return queue_.empty(); }
  std::size_t size() const { return queue_.size(); }
  std::vector<SpooledEnd> all() const;

 private:
  using Place = std::uint64_t;  // in the order of their ends

  void remove(Place place);

  std::map<Place, SpooledEnd> queue_;
  std::map<Token, Place> places_;
  std::set<Place> ready_;  // neither uploading nor taken by a call
  // Of those that were refused in a call together with others, and may not be what was wrong with it: how many may
  // travel together.
  std::map<Place, std::size_t> most_together_;
  std::set<Place> bare_;
  std::map<std::uint64_t, std::vector<Place>> calls_;
  std::vector<Token> told_;
  Place next_ = 0;
};

}  // namespace drover
