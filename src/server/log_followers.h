// Those who follow what an item prints. What running attempts have printed by now their workers say while somebody
// follows them; it is kept here alone, beside who follows, and goes with them. As soon as an attempt has a row in the
// ledger, that is what is read. Frames come in the same order from either, so what was shown is known by their number.
//
// A follower that waits is an entry in a list, and holds no thread. It has its turn when its worker says something,
// when its attempt has ended, when its peer has room again, or every few seconds, to say to the core that it is still
// there. A turn goes through the core, which knows who runs the item, to a thread that may wait for disks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "core/command.h"
#include "logs/extents.h"
#include "logs/log_reader.h"
#include "ports/backend.h"
#include "server/last_lines.h"
#include "server/log_source.h"
#include "server/quota.h"

namespace drover {

class LogFollowers {
 public:
  /// What the ledger says of an item.
  struct Known {
    bool job_has_ended = false;     // before the attempts were read
    std::vector<Attempt> attempts;  // those that ended, in their order
  };
  struct Outside {
    /// Asks the core. Answered on any thread.
    std::function<void(Watch, std::function<void(Result<Effect>)>)> watch;
    /// Does the work on a thread that may wait for disks.
    std::function<void(const Holder&, std::function<void()>)> later;
    /// From within later() only.
    std::function<Result<Known>(JobId, ItemIndex)> look;
  };

  LogFollowers(Outside outside, std::string folder);
  ~LogFollowers();
  LogFollowers(const LogFollowers&) = delete;
  LogFollowers& operator=(const LogFollowers&) = delete;

  /// Writes what the item has printed to the stream that `begin` gives, and goes on until the item or the attempt has
  /// ended; if the question is not to follow, until what is there by now was written. Refused when too many do.
  Result<void> add(const LogQuestion& question, const std::function<std::shared_ptr<HttpStream>()>& begin);
  /// A worker says where all is that an attempt has printed by now.
  void on_shown(WorkerId worker, const Token& token, const ExtentList& extents);
  /// Of these, what somebody follows.
  std::vector<Token> followed(const std::vector<EndedAttempt>& ended) const;
  /// They have their rows.
  void on_ended(const std::vector<Token>& tokens);
  /// Whoever follows with a key that is not good any more follows no longer.
  void on_key_removed();
  /// From now on nobody has a turn.
  void stop();

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Follower {
    LogQuestion question;
    std::shared_ptr<HttpStream> stream;
    Quota::Share share;
    Time due;          // when it has its next turn
    Time watch_due;    // when the core is asked again
    Time waits_until;  // for its worker to say where all is; what was printed before is wanted in one piece
    bool in_turn = false;
    bool was_woken = false;  // while it had its turn
    std::optional<Watched::Running> running;
    std::optional<ExtentList> shown;  // of what runs

    // Of its turn alone.
    AttemptNumber attempt;
    std::vector<FramePlace> frames;  // of that attempt
    std::size_t written = 0;         // of them
    std::unique_ptr<LogText> text;   // of that attempt
    std::uint64_t skip = 0;          // bytes of its output
    std::optional<LastLines> tail;   // what was there when it began is gathered, not written
  };
  using Place = std::shared_ptr<Follower>;
  enum class Turn : std::uint8_t { waits, peer_is_slow, peer_has_room, over };

  void run();
  void ask_core(const Place& it);
  void read_later(const Place& it);
  Turn read(Follower& it, const std::optional<Watched::Running>& running, const ExtentList& shown) const;
  Turn write_frames(Follower& it, const ExtentList& extents) const;
  static LogText& text_of(Follower& it);
  static Turn give_up(Follower& it, const Error& error);
  static bool write(Follower& it, std::string text);
  Turn write_tail(Follower& it) const;
  void end_turn(const Place& it, Turn turn);
  void wake(Follower& it);

  const Outside outside_;
  const std::string folder_;
  Quota quota_;

  mutable std::mutex mutex_;  // guards what follows, but for what is of a turn alone
  std::condition_variable wakes_;
  std::list<Place> followers_;
  bool stopped_ = false;
  std::atomic<std::size_t> count_ = 0;  // of them: most of the time nobody follows
  std::thread thread_;
};

}  // namespace drover
