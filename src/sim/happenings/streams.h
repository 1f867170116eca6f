// What people and programs do with streams.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/streams/stream_records.h"
#include "sim/happening.h"

namespace drover::sim {

struct HappeningGroup;

/// A stream as it shall be from now on. What decides over its messages never changes: those who check rely on it.
struct ChangeStream {
  StreamSpec spec;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

struct EmptyStream {
  std::string stream;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Deleted with its messages. It is created again when streams are tended.
struct RemoveStream {
  std::string stream;

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
};

/// Somebody sends messages in batches, the next one when the last was acknowledged.
struct SendToStream {
  std::string stream;
  std::uint64_t messages = 0;
  std::uint64_t at_once = 1;
  std::uint64_t groups = 1;  // of a FIFO stream
  std::optional<std::int64_t> delay_ms = {};
  std::int64_t pause_ms = 0;
  bool doubts = false;  // and sends what was acknowledged once more, if that changes nothing

  static constexpr bool kIsFault = false;
  std::string describe() const;
  void happen(Stage& stage) const;
  std::vector<Happening> smaller() const;
};

/// Programs receive messages for a while, and are then killed with whatever they hold.
struct ReceiveFromStream {
  std::string stream;
  std::uint64_t receivers = 1;
  std::int64_t for_ms = 0;
  std::uint64_t at_once = 1;
  std::optional<std::int64_t> visibility_ms = {};
  std::int64_t wait_ms = 0;
  std::int64_t work_ms = 0;        // at most, with what was received at once
  std::uint64_t fail_percent = 0;  // of messages are not deleted
  bool are_attempts = false;       // each is an attempt at an item, and ends with it
  std::string fleet = {};          // on whose machines these attempts are; empty: on any worker

  static constexpr bool kIsFault = false;
  std::int64_t lasts_ms() const { return for_ms; }
  std::string describe() const;
  void happen(Stage& stage) const;
  std::vector<Happening> smaller() const;
  std::vector<Happening> plainer() const;
};

HappeningGroup stream_happenings();

}  // namespace drover::sim
