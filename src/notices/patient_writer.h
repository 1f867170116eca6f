// Writes to a descriptor that another program may have stopped reading: standard error, standard output. It waits for
// the reader, but can be told to give up, so that a process can always exit.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>

namespace drover {

class PatientWriter {
 public:
  using Clock = std::chrono::steady_clock;

  /// `fd` stays the caller's, and so do its flags: other processes may share them.
  explicit PatientWriter(int fd);
  ~PatientWriter();
  PatientWriter(const PatientWriter&) = delete;
  PatientWriter& operator=(const PatientWriter&) = delete;

  /// Waits until all of it is written. False: nobody can read it any more, or it was given up. One thread at a time.
  bool write(std::string_view bytes);
  /// No write waits any longer than this, not even one that waits now. From any thread.
  void give_up_at(Clock::time_point when);

 private:
  enum class Kind : unsigned char { plain, socket };

  /// Milliseconds that poll() may wait; -1: for ever; nothing: it was given up.
  std::optional<int> patience_ms() const;
  /// False: it was given up. `was_refused`: the last write found no room although the descriptor was ready, as happens
  /// on terminals; then it waits a moment first.
  bool wait_for_reader(bool was_refused) const;
  long write_some(std::string_view bytes) const;

  int fd_;
  Kind kind_ = Kind::plain;
  bool is_own_ = false;                 // a description of our own, which does not block
  int wakes_ = -1;                      // readable once it was told when to give up
  std::atomic<Clock::rep> give_up_{0};  // 0: never
};

}  // namespace drover
