#include "worker/ended_logs.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace drover {
namespace {

constexpr std::size_t kMostBytesInReport = std::size_t{1} << 20;

/// The frames beside a report, each once: small outputs share them.
class ReportFrames {
 public:
  explicit ReportFrames(LogReader& spooled) : spooled_(spooled) {}

  /// How many bytes it would grow by.
  std::size_t cost(const std::vector<FramePlace>& frames) const {
    std::size_t more = 0;
    for (const FramePlace& it : frames) {
      if (!known_.contains({it.segment, it.offset})) more += it.next - it.offset;
    }
    return more;
  }

  /// Their numbers among those of the report.
  Result<std::vector<std::uint32_t>> add(const std::vector<FramePlace>& frames) {
    bytes_ += cost(frames);
    std::vector<std::uint32_t> numbers;
    for (const FramePlace& it : frames) {
      const auto [at, is_new] =
          known_.emplace(Place(it.segment, it.offset), static_cast<std::uint32_t>(packed_.size()));
      if (is_new) {
        auto packed = spooled_.packed(it);
        if (!packed) return pass(packed);
        packed_.push_back(std::move(*packed));
      }
      numbers.push_back(at->second);
    }
    return numbers;
  }

  std::size_t bytes() const { return bytes_; }
  std::vector<std::string> take() { return std::move(packed_); }

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;

  LogReader& spooled_;
  std::map<Place, std::uint32_t> known_;
  std::vector<std::string> packed_;
  std::size_t bytes_ = 0;
};

}  // namespace

void EndedLogs::on_ended(const Token& token, const LogKey& key) {
  printed_[token] = {.key = key, .last_line = logs_.end(key), .extents = {}, .sent = live_.end(token), .placed = false};
}

void EndedLogs::with_frames(Report report, GoOn go_on) {
  std::erase_if(report.ended, [&](const EndedAttempt& it) { return uploading_.contains(it.token); });
  std::vector<LogKey> keys;
  std::vector<Token> tokens;
  for (EndedAttempt& ended : report.ended) {
    const auto printed = printed_.find(ended.token);
    if (printed == printed_.end()) continue;
    if (!ended.outcome.success()) ended.log.last_line = printed->second.last_line;
    if (printed->second.placed) continue;
    keys.push_back(printed->second.key);
    tokens.push_back(ended.token);
  }
  auto shared = std::make_shared<Report>(std::move(report));
  logs_.settle(std::move(keys), [this, shared, tokens = std::move(tokens),
                                 go_on = std::move(go_on)](const Result<std::vector<Bytes>>& places) {
    post_([this, shared, tokens, go_on, places] {
      Result<WorkerReport> framed = places ? Result<WorkerReport>() : std::unexpected(places.error());
      if (!framed) return go_on(framed);
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        Printed& printed = printed_[tokens[i]];
        printed.extents = (*places)[i];
        printed.placed = true;
      }
      framed = attach_frames(std::move(*shared));
      go_on(framed);
    });
  });
}

Result<WorkerReport> EndedLogs::attach_frames(Report report) {
  LogReader spooled(spool_);
  ReportFrames frames(spooled);
  WorkerReport out{.report = std::move(report), .frames = {}, .ended_frames = {}};
  std::vector<EndedAttempt> another_time;
  for (EndedAttempt& ended : std::exchange(out.report.ended, {})) {
    auto left = frames_left(spooled, ended);
    if (!left) return pass(left);
    if (ReportFrames(spooled).cost(*left) > kMostBytesInReport) {
      tell_when_uploaded(std::move(ended));
      continue;
    }
    if (frames.bytes() + frames.cost(*left) > kMostBytesInReport) {
      another_time.push_back(std::move(ended));
      continue;
    }
    auto numbers = frames.add(*left);
    if (!numbers) return pass(numbers);
    out.ended_frames.push_back(std::move(*numbers));
    out.report.ended.push_back(std::move(ended));
  }
  out.frames = frames.take();
  if (!another_time.empty()) tell_later_(std::move(another_time));
  return out;
}

Result<std::vector<FramePlace>> EndedLogs::frames_left(LogReader& spooled, EndedAttempt& ended) const {
  const auto printed = printed_.find(ended.token);
  if (printed == printed_.end() || printed->second.extents.value.empty()) return std::vector<FramePlace>{};
  auto all = spooled.frames_of(ExtentList::decode(printed->second.extents.value));
  if (!all) return pass(all);
  const LiveLogs::Sent& sent = printed->second.sent;
  ended.log.extents = sent.places.encode();
  all->erase(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(std::min(sent.frames, all->size())));
  return all;
}

void EndedLogs::tell_when_uploaded(EndedAttempt ended) {
  const Token token = ended.token;
  const Printed& printed = printed_.at(token);
  uploading_.emplace(token, std::move(ended));
  live_.finish(token, printed.extents, printed.sent, [this, token](LiveLogs::Sent sent) {
    printed_.at(token).sent = std::move(sent);
    std::vector<EndedAttempt> told;
    told.push_back(std::move(uploading_.extract(token).mapped()));
    tell_later_(std::move(told));
  });
}

void EndedLogs::forget(const std::vector<Token>& told) {
  std::vector<LogKey> keys;
  for (const Token& token : told) {
    const auto printed = printed_.extract(token);
    if (!printed.empty()) keys.push_back(printed.mapped().key);
  }
  if (!keys.empty()) logs_.forget(std::move(keys));
}

}  // namespace drover
