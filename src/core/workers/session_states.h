// What a session goes through, as two small machines: its polls, and whether the worker goes on taking items.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "base/ids.h"

namespace drover {

/// A worker's polls. They are numbered, none is heard twice, and one at a time may wait.
class PollState {
 public:
  /// False: it was heard before, or overtaken on its way.
  bool hear(PollNumber number) {
    if (number <= last_) return false;
    last_ = number;
    return true;
  }
  /// It was answered before the core began: it granted something.
  void recall(PollNumber number) { last_ = std::max(last_, number); }
  /// Another process counts from the beginning.
  void begin_anew() {
    DROVER_CHECK(!waits(), "a poll of the process before is answered first");
    last_ = PollNumber{};
  }

  /// The last one that was heard waits for an answer, under this number of the core's.
  void park(std::uint64_t sequence) {
    DROVER_CHECK(!waits() && sequence != 0, "one poll waits at a time");
    parked_ = sequence;
  }
  void unpark() {
    DROVER_CHECK(waits(), "a poll is answered once");
    parked_ = 0;
  }
  bool waits() const { return parked_ != 0; }
  std::uint64_t parked() const { return parked_; }
  PollNumber last() const { return last_; }

 private:
  PollNumber last_;
  std::uint64_t parked_ = 0;
};

/// Whether a worker takes items, or shall take no more and go when what it runs has ended.
class DrainState {
 public:
  bool is_draining() const { return state_ != State::takes_items; }
  /// With its next answer.
  bool is_to_be_told() const { return state_ == State::asked; }

  /// By somebody else.
  void ask() {
    state_ = state_ == State::takes_items ? State::asked : state_ == State::of_itself ? State::told : state_;
  }
  void on_told() {
    if (state_ == State::asked) state_ = State::told;
  }
  /// It may not have heard it.
  void on_answer_lost() {
    if (state_ == State::told) state_ = State::asked;
  }
  /// It says so, and knows.
  void begin_of_itself() {
    if (state_ == State::takes_items) state_ = State::of_itself;
  }
  void on_left() { state_ = State::takes_items; }
  /// One that was asked is asked again, unless it had done so: it knew, and nothing was left of it; or it was lost.
  void on_new_process(bool held_some, bool was_lost) {
    const bool is_asked = state_ == State::asked || (state_ == State::told && held_some);
    state_ = is_asked && !was_lost ? State::asked : State::takes_items;
  }

 private:
  enum class State : std::uint8_t { takes_items, asked, told, of_itself };
  State state_ = State::takes_items;
};

}  // namespace drover
