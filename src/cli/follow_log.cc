#include "cli/follow_log.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/json.hpp>

#include "cli/print.h"
#include "engine/system_clock.h"
#include "server/last_lines.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr int kFirstPauseMs = 200;
constexpr int kLongestPauseMs = 2'000;
constexpr int kMostEarlyEnds = 5;
// A server that is started anew is back by then.
constexpr std::int64_t kPatienceNs = std::int64_t{120} * 1'000'000'000;

/// What is known of the item, as the server says it.
struct ItemState {
  bool has_ended = false;
  bool is_running = false;
  std::vector<std::string> endings;  // of the attempts that have ended
};

class LogFollowing {
 public:
  LogFollowing(ServerClient& client, const FollowedLog& wanted) : client_(client), wanted_(wanted) {}

  Result<void> run() {
    attempt_ = std::max(wanted_.attempt, 1U);
    if (wanted_.has_tail) {
      if (auto begun = print_tail(); !begun || nobody_reads_) return begun;
    }
    int early_ends = 0;
    while (true) {
      if (auto printed = print(true); !printed || nobody_reads_) return printed;
      auto item = ask_item();
      if (!item) return pass(item);
      const std::size_t ended = item->endings.size();
      if (ended < attempt_ && !item->has_ended) {
        // The server let go of it, in order, and early.
        if (++early_ends > kMostEarlyEnds) return fail(ErrorCode::io, "the server keeps closing the log stream early");
        ::poll(nullptr, 0, kLongestPauseMs);
        continue;
      }
      if (wanted_.attempt != 0 || (item->has_ended && ended <= attempt_)) return {};
      if (!wanted_.quiet) {
        print_notice(fmt::format("attempt {} has ended ({}); attempt {} follows", attempt_, item->endings[attempt_ - 1],
                                 attempt_ + 1));
      }
      ++attempt_;
      position_ = 0;
      early_ends = 0;
    }
  }

 private:
  /// The last lines of what there is of the last attempt. All of it passes here: what follows begins behind it.
  Result<void> print_tail() {
    if (wanted_.attempt == 0) {
      auto item = ask_item();
      if (!item) return pass(item);
      attempt_ = std::max(1U, static_cast<std::uint32_t>(item->endings.size()) + (item->is_running ? 1 : 0));
    }
    tail_.emplace(wanted_.tail);
    auto read = print(false);
    const auto tail = std::exchange(tail_, std::nullopt);
    if (read && tail) write(tail->text());
    return read;
  }

  /// What the attempt prints from the position on: until it has ended, or what there is by now.
  Result<void> print(bool follow) {
    return patiently([&] {
      const std::string path = fmt::format("/api/v1/jobs/{}/items/{}/log?attempt={}&skip={}{}{}",
                                           url_escape(wanted_.job), url_escape(wanted_.item), attempt_, position_,
                                           follow ? "&follow=true" : "", wanted_.only_stderr ? "&stream=stderr" : "");
      return client_.stream(path, [&](std::string_view bytes) {
        position_ += bytes.size();
        heard_ns_ = steady_.elapsed_ns();
        if (tail_) {
          tail_->add(bytes);
        } else {
          write(bytes);
        }
        return nobody_reads_ ? Result<void>(fail(ErrorCode::io, "standard output is closed")) : Result<void>();
      });
    });
  }

  Result<ItemState> ask_item() {
    ItemState out;
    auto done = patiently([&]() -> Result<void> {
      auto answer =
          client_.get(fmt::format("/api/v1/jobs/{}/items/{}", url_escape(wanted_.job), url_escape(wanted_.item)));
      if (!answer) return pass(answer);
      const std::string_view state(answer->at("state").as_string());
      out.has_ended = state == "succeeded" || state == "failed" || state == "cancelled";
      out.is_running = state == "running";
      for (const json::value& one : answer->at("history").as_array()) {
        const json::value& reason = one.at("reason");
        out.endings.emplace_back(std::string_view((reason.is_string() ? reason : one.at("state")).as_string()));
      }
      return {};
    });
    if (!done) return pass(done);
    return out;
  }

  /// Tries again while the server is away, for a while.
  template <class Do>
  Result<void> patiently(Do&& attempt) {
    int pause_ms = kFirstPauseMs;
    heard_ns_ = steady_.elapsed_ns();
    while (true) {
      const std::int64_t heard_ns = heard_ns_;
      auto done = attempt();
      if (done || nobody_reads_) {
        was_away_ = false;
        return {};
      }
      if (heard_ns_ != heard_ns) {
        was_away_ = false;
        pause_ms = kFirstPauseMs;
      }
      if (!may_answer_later(done.error()) || steady_.elapsed_ns() - heard_ns_ > kPatienceNs) return done;
      if (!std::exchange(was_away_, true) && !wanted_.quiet) {
        print_notice(fmt::format("{}; trying again", done.error().message));
      }
      ::poll(nullptr, 0, pause_ms);
      pause_ms = std::min(2 * pause_ms, kLongestPauseMs);
    }
  }

  void write(std::string_view bytes) { nobody_reads_ = !print_text(stdout, bytes) || !flush_output(); }

  ServerClient& client_;
  const FollowedLog& wanted_;
  SystemSteadyClock steady_;
  std::uint32_t attempt_ = 1;
  std::uint64_t position_ = 0;  // bytes of the attempt that were seen
  std::optional<LastLines> tail_;
  std::int64_t heard_ns_ = 0;
  bool was_away_ = false;  // and it was said
  bool nobody_reads_ = false;
};

}  // namespace

Result<void> follow_log(ServerClient& client, const FollowedLog& wanted) {
  return LogFollowing(client, wanted).run();
}

}  // namespace drover
