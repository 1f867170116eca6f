// What items print, on its way to the server while they run: each 256 KiB, so that there is little left to send when an
// item ends; and each second while somebody follows it, with word of where all of it is. One upload at a time, for all
// of them together, so that no number of followers keeps the worker's polls waiting.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "logs/log_reader.h"
#include "logs/log_writer.h"
#include "wire/worker_protocol.h"

namespace drover {

class LiveLogs {
 public:
  /// Runs something on the worker's loop, where all calls below are made.
  using Post = std::function<void(std::function<void()>)>;
  /// Gets where each frame is, on the loop.
  using Placed = std::function<void(Result<std::vector<std::string>>)>;
  using Send = std::function<void(WorkerUpload, Placed)>;

  /// `logs` writes to the folder `spool`.
  LiveLogs(LogWriter& logs, std::string spool, Post post, Send send)
      : logs_(logs), spool_(std::move(spool)), post_(std::move(post)), send_(std::move(send)) {}

  void on_printed(const Token& token, const LogKey& key, std::size_t bytes);
  /// Somebody follows it, and says so again while they do.
  void on_watched(const Token& token, const LogKey& key, std::int64_t now_ms);
  /// Sends what is due.
  void step(WorkerId worker, std::int64_t now_ms);
  /// The server has answered something: if it could not be reached before, what waits for it is due.
  void on_server_heard();
  /// When a step is due, if nothing is printed before.
  std::optional<std::int64_t> next_deadline(std::int64_t now_ms) const;

  /// What the server has of an attempt's output: its first frames, and where they are.
  struct Sent {
    std::size_t frames = 0;
    ExtentList places;
  };
  /// The attempt is over. What is under way of it counts as not sent.
  Sent end(const Token& token);
  /// Sends all of an attempt that is over, of which the spool has this and the server that; however long it takes.
  using Finished = std::function<void(Sent)>;
  void finish(const Token& token, Bytes in_spool, Sent sent, Finished finished);

 private:
  struct Live {
    LogKey key;
    std::uint64_t number = 0;  // no two have the same, not even two of one attempt
    std::uint64_t fresh = 0;   // bytes printed since it was last looked at
    std::int64_t watched_until_ms = 0;
    std::int64_t next_ms = 0;          // when whoever watches is told again
    bool tell = false;                 // at once, even if there is nothing new
    std::vector<FramePlace> in_spool;  // its frames, as far as they were looked at
    Sent sent;
    std::optional<Bytes> whole;  // where all of it is, of one that is over
    bool is_refused = false;     // the server does not take it: its report is all that is told
    Finished finished;

    bool is_due(std::int64_t now_ms) const;
  };
  /// One upload from its beginning to its end.
  struct Round {
    WorkerId worker;
    std::int64_t began_ms = 0;
    struct Part {
      Token token;
      std::uint64_t number = 0;
    };
    std::vector<Part> parts;
    std::vector<Result<Bytes>> spooled;  // where the output of each is
    std::vector<std::size_t> frames;     // how many of each are sent
  };
  using LiveByToken = std::map<Token, Live>;

  /// Of an attempt that is new here, what a Live is to begin with.
  Live& live_of(const Token& token);
  /// Nothing if the attempt ended meanwhile, even if what is left of it is being sent now.
  LiveByToken::iterator find(const Round::Part& part);
  void send_round(const std::shared_ptr<Round>& round);
  void on_placed(const Round& round, const Result<std::vector<std::string>>& places);
  void try_later(const Round& round, bool was_away = false);
  void on_refused(const Round& round);
  void on_unreadable(const Round& round, std::size_t part, const Error& error);
  void begin_again(const Round& round);
  void leave_out(const Round::Part& part);

  LogWriter& logs_;
  const std::string spool_;
  const Post post_;
  const Send send_;
  LiveByToken live_;
  std::uint64_t next_number_ = 0;
  bool under_way_ = false;
  std::int64_t not_before_ms_ = 0;
  std::uint32_t failures_ = 0;  // in a row
  bool was_away_ = false;       // the last of them: the server did not answer
  bool one_by_one_ = false;     // to find the one that the server refuses
};

}  // namespace drover
