#include "worker/ended_logs.h"

#include <algorithm>
#include <memory>

#include "base/text.h"

namespace drover {
namespace {

/// The frames beside a report, each once: small outputs share them.
class ReportFrames {
 public:
  explicit ReportFrames(LogReader& spooled) : spooled_(spooled) {}

  /// Their numbers among those of the report.
  Result<std::vector<std::uint32_t>> add(const std::vector<FramePlace>& frames) {
    std::vector<std::uint32_t> numbers;
    for (const FramePlace& it : frames) {
      auto known = known_.find({it.segment, it.offset});
      if (known == known_.end()) {
        auto packed = spooled_.packed(it);
        if (!packed) return pass(packed);
        known = known_.emplace(Place(it.segment, it.offset), static_cast<std::uint32_t>(packed_.size())).first;
        packed_.push_back(std::move(*packed));
      }
      numbers.push_back(known->second);
    }
    return numbers;
  }

  std::vector<std::string> take() { return std::move(packed_); }

 private:
  using Place = std::pair<std::uint64_t, std::uint64_t>;

  LogReader& spooled_;
  std::map<Place, std::uint32_t> known_;
  std::vector<std::string> packed_;
};

std::uint64_t size_of(const FramePlace& frame) {
  return frame.next - frame.offset;
}

}  // namespace

void EndedLogs::spool(std::vector<Ended> ended, Who who, Spooled done) {
  std::vector<LogKey> keys;
  auto attempts = std::make_shared<std::vector<SpooledAttempt>>();
  for (Ended& it : ended) {
    std::string last_line = logs_.end(it.key);
    if (!it.ended.outcome.success()) it.ended.log.last_line = std::move(last_line);
    LiveLogs::Sent sent = live_.end(it.ended.token);
    keys.push_back(it.key);
    attempts->push_back({.ended = std::move(it.ended), .key = it.key, .in_spool = {}, .sent = std::move(sent)});
  }
  logs_.settle(std::move(keys),
               [this, attempts, who, done = std::move(done)](const Result<std::vector<Bytes>>& places) {
                 if (!places) return;  // the worker ends, and what it cannot write is lost with it
                 for (std::size_t i = 0; i < places->size(); ++i) (*attempts)[i].in_spool = (*places)[i];
                 hooks_.post([this, attempts, who, done] { on_written(std::move(*attempts), who, done); });
               });
}

void EndedLogs::on_written(std::vector<SpooledAttempt> attempts, Who who, const Spooled& done) {
  LogReader spooled(spool_);
  std::set<FrameStart> counted;
  std::vector<SpooledEnd> out;
  for (SpooledAttempt& it : attempts) {
    it.ended.log.extents = it.sent.places.encode();
    out.push_back(weigh(spooled, it, counted));
  }
  // What cannot be written down is told all the same, and is lost only if this process is killed before.
  if (auto added = index_.add(who.worker, who.incarnation, attempts); !added) hooks_.problem(added.error());
  unsynced_ = true;
  done(std::move(out));
}

std::vector<SpooledEnd> EndedLogs::take_over() {
  LogReader spooled(spool_);
  std::set<FrameStart> counted;
  std::vector<SpooledEnd> out;
  for (SpooledAttempt it : index_.found().attempts) {
    check_frames(spooled, it);
    logs_.adopt(it.key, ExtentList::decode(it.in_spool.value));
    out.push_back(weigh(spooled, it, counted));
  }
  logs_.delete_unadopted();
  return out;
}

// A machine that lost its power may have kept the index and not all of the logs.
void EndedLogs::check_frames(LogReader& spooled, SpooledAttempt& attempt) {
  ExtentList whole;
  std::uint64_t lost = 0;
  const auto frames = spooled.frames_of(ExtentList::decode(attempt.in_spool.value));
  for (std::size_t i = 0; frames && i < frames->size(); ++i) {
    const FramePlace& frame = (*frames)[i];
    const auto raw = i < attempt.sent.frames ? Result<const std::string*>(nullptr) : spooled.frame(frame);
    if (i >= attempt.sent.frames && (!raw || *raw == nullptr)) {
      lost += size_of(frame);
    } else {
      whole.add({frame.segment, frame.offset, size_of(frame)});
    }
  }
  if (frames && lost == 0) return;
  attempt.in_spool = whole.encode();
  hooks_.problem({ErrorCode::damaged, concat("part of the log of item ", attempt.key.item.value,
                                             " was lost when this machine stopped; the rest is reported")});
}

SpooledEnd EndedLogs::weigh(LogReader& spooled, const SpooledAttempt& attempt, std::set<FrameStart>& counted) {
  SpooledEnd out{.ended = attempt.ended};
  printed_[attempt.ended.token] = {attempt.key, attempt.in_spool, attempt.sent};
  const auto left = frames_left(spooled, attempt.in_spool, attempt.sent);
  if (!left) return out;  // with_frames() says so
  std::size_t whole = 0;
  for (const FramePlace& frame : *left) {
    whole += size_of(frame);
    if (counted.emplace(frame.segment, frame.offset).second) out.bytes += size_of(frame);
  }
  out.uploading = whole > ReportOutbox::kMostBytes;
  if (out.uploading) upload(attempt.ended);
  return out;
}

WorkerReport EndedLogs::with_frames(Report report) {
  LogReader spooled(spool_);
  ReportFrames frames(spooled);
  WorkerReport out{.report = std::move(report), .frames = {}, .ended_frames = {}};
  for (const EndedAttempt& ended : out.report.ended) {
    std::vector<std::uint32_t>& numbers = out.ended_frames.emplace_back();
    const auto printed = printed_.find(ended.token);
    if (printed == printed_.end()) continue;
    auto left = frames_left(spooled, printed->second.in_spool, printed->second.sent);
    auto added = left ? frames.add(*left) : std::unexpected(left.error());
    // An end is worth more than its log: it is told without what cannot be read.
    if (added) {
      numbers = std::move(*added);
    } else {
      hooks_.problem(added.error());
    }
  }
  out.frames = frames.take();
  return out;
}

Result<std::vector<FramePlace>> EndedLogs::frames_left(LogReader& spooled, const Bytes& in_spool,
                                                       const LiveLogs::Sent& sent) {
  if (in_spool.value.empty()) return std::vector<FramePlace>{};
  auto all = spooled.frames_of(ExtentList::decode(in_spool.value));
  if (!all) return pass(all);
  all->erase(all->begin(), all->begin() + static_cast<std::ptrdiff_t>(std::min(sent.frames, all->size())));
  return all;
}

void EndedLogs::upload(EndedAttempt ended) {
  const Token token = ended.token;
  const Printed& printed = printed_.at(token);
  uploading_.emplace(token, std::move(ended));
  live_.finish(token, printed.in_spool, printed.sent, [this, token](LiveLogs::Sent sent) {
    const auto found = uploading_.extract(token);
    if (found.empty()) return;  // nobody wants it any more
    EndedAttempt told = std::move(found.mapped());
    told.log.extents = sent.places.encode();
    printed_.at(token).sent = std::move(sent);
    hooks_.uploaded(std::move(told));
  });
}

void EndedLogs::leave_out_log(const Token& token) {
  const auto printed = printed_.find(token);
  if (printed != printed_.end()) printed->second.in_spool = {};
}

void EndedLogs::forget(const std::vector<Token>& told) {
  std::vector<LogKey> keys;
  for (const Token& token : told) {
    const auto printed = printed_.extract(token);
    if (!printed.empty()) keys.push_back(printed.mapped().key);
    if (uploading_.erase(token) > 0) live_.end(token);
  }
  if (keys.empty()) return;
  if (auto forgotten = index_.forget(told); !forgotten) hooks_.problem(forgotten.error());
  logs_.forget(std::move(keys));
}

void EndedLogs::sync() {
  if (!std::exchange(unsynced_, false)) return;
  logs_.sync([this](const Result<void>& synced) {
    const Result<void> all = synced ? index_.sync() : synced;
    if (!all) hooks_.post([this, error = all.error()] { hooks_.problem(error); });
  });
}

}  // namespace drover
