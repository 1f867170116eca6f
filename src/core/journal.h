// What the parts of the core share: the time, the numbers of what is new, what is said, and what has become history.
// Everything else belongs to one part.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/mutation.h"

namespace drover {

class Journal {
 public:
  explicit Journal(Counters& counters) : counters_(counters) {}

  std::int64_t now_ms() const { return now_ms_; }
  void set_now(std::int64_t now_ms) { now_ms_ = now_ms; }

  JobId new_job();
  GrantId new_grant();
  WorkerId new_worker();
  StreamId new_stream();
  /// The first number of a block of messages.
  MessageNumber new_message_block();
  /// That the next block will begin with.
  MessageNumber next_message_block() const {
    return MessageNumber{counters_.next_message_block * MessageBlock::kMessages};
  }

  /// An effect goes out when what was changed is durable; to nobody in particular: ticket 0.
  void say(Ticket to, Effect effect) { answers_.push_back({to, std::move(effect)}); }
  void refuse(Ticket to, ErrorCode code, std::string message, std::string next = {});
  bool has_answers() const { return !answers_.empty(); }
  std::vector<Answer> take_answers() { return std::exchange(answers_, {}); }

  void note(EventKind kind, const Job& job, std::string detail = {});
  void note(EventKind kind, const std::string& name, std::string detail = {});

  /// The job has changed in the eyes of people.
  void touch(JobId job) { touched_.insert(job); }
  std::vector<JobId> take_touched();

  /// A record has changed and must be written: the time of it is worth writing, too.
  void count_change() { ++changes_; }
  std::uint64_t changes() const { return changes_; }
  /// To be written once, in this order, behind the records: attempts, events.
  void write(Mutation mutation);
  /// The time at which something changed.
  void write_time();

  void take_counters(std::vector<Mutation>& out);
  void take_written(std::vector<Mutation>& out);

 private:
  void count_up() {
    count_change();
    counters_changed_ = true;
  }

  Counters& counters_;
  std::int64_t now_ms_ = 0;
  std::uint64_t changes_ = 0;
  bool counters_changed_ = false;
  std::vector<Answer> answers_;
  std::set<JobId> touched_;
  std::vector<Mutation> written_;
};

/// The records of one kind that a batch has changed so far. One that changes ten times is written once, as it is at the
/// end.
template <class Key>
class Changed {
 public:
  explicit Changed(Journal& journal) : journal_(journal) {}

  void add(const Key& key) {
    journal_.count_change();
    keys_.insert(key);
  }
  void drop(const Key& key) { keys_.erase(key); }
  template <class Predicate>
  void drop_if(const Predicate& predicate) {
    std::erase_if(keys_, predicate);
  }
  std::set<Key> take() { return std::exchange(keys_, {}); }

  /// A put for each that is in `records`, a delete for each that is not any more.
  template <class Put, class Records, class MakeDelete>
  void take(const Records& records, std::vector<Mutation>& out, const MakeDelete& make_delete) {
    for (const Key& key : take()) {
      if (const auto found = records.find(key); found != records.end()) {
        out.emplace_back(Put{found->second});
      } else {
        out.emplace_back(make_delete(key));
      }
    }
  }
  /// A put for each.
  template <class Put, class Records>
  void take(const Records& records, std::vector<Mutation>& out) {
    for (const Key& key : take()) out.emplace_back(Put{records.at(key)});
  }

 private:
  Journal& journal_;
  std::set<Key> keys_;
};

}  // namespace drover
