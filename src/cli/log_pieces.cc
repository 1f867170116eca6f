#include "cli/log_pieces.h"

#include <algorithm>
#include <utility>

namespace drover {
namespace {

// Behind what is damaged nothing of a segment can be read.
constexpr std::uint64_t kNoMore = std::uint64_t{1} << 60;
constexpr std::size_t kMostBytesWaiting = std::size_t{4} << 20;

}  // namespace

Result<bool> PiecePrinter::print(const std::vector<LogPiece>& pieces, std::optional<std::uint64_t> tail) {
  std::size_t first = 0;
  if (tail) {
    // One more than is asked for: the first of them may have begun earlier.
    std::uint64_t lines = 0;
    for (first = pieces.size(); first > 0 && lines <= *tail;) {
      auto more = count(pieces[--first]);
      if (!more) return pass(more);
      lines += *more;
    }
  }
  keep_ = tail;
  for (std::size_t i = first; i < pieces.size(); ++i) {
    auto going_on = print(pieces[i]);
    if (!going_on || !*going_on) return going_on;
  }
  return !tail || print_kept();
}

Result<bool> PiecePrinter::print(const LogPiece& piece) {
  auto raw = reader_.frame(piece.place);
  if (!raw) return pass(raw);
  if (*raw == nullptr) {
    return printer_.print(piece.key.value_or(LogKey{}),
                          {LogStream::note, 0, "[drover: part of the stored log is damaged here]\n"});
  }
  RecordCursor cursor(**raw);
  while (const auto record = cursor.next()) {
    if (!is_wanted(*record, piece)) continue;
    if (piece.key && !assembler(record->key).add(*record)) return false;
    if (!piece.key && !wait_in_line(*record)) return false;
  }
  return true;
}

bool PiecePrinter::print_waiting() {
  bool going_on = true;
  while (!waiting_.empty()) going_on = print_oldest() && going_on;
  return going_on;
}

void PiecePrinter::finish() {
  print_waiting();
  for (auto& [key, blocks] : assemblers_) blocks.finish();
  assemblers_.clear();
}

Result<std::uint64_t> PiecePrinter::count(const LogPiece& piece) {
  auto raw = reader_.frame(piece.place);
  if (!raw) return pass(raw);
  std::uint64_t lines = 0;
  if (*raw == nullptr) return lines;
  RecordCursor cursor(**raw);
  while (const auto record = cursor.next()) {
    if (is_wanted(*record, piece)) lines += static_cast<std::uint64_t>(std::ranges::count(record->bytes, '\n'));
  }
  return lines;
}

bool PiecePrinter::is_wanted(const LogRecord& record, const LogPiece& piece) const {
  return record.key.job == job_ && (!piece.key || record.key == *piece.key) &&
         wanted_.has(record.stream, record.time_ms);
}

LineBlocks& PiecePrinter::assembler(const LogKey& key) {
  const auto it = assemblers_.find(key);
  if (it != assemblers_.end()) return it->second;
  return assemblers_.emplace(key, LineBlocks([this, key](const LineBlock& block) { return give(key, block); }))
      .first->second;
}

bool PiecePrinter::give(const LogKey& key, const LineBlock& block) {
  if (!keep_) return printer_.print(key, block);
  for (std::string_view rest = block.bytes; !rest.empty();) {
    const std::size_t newline = rest.find('\n');
    const std::size_t size = newline == std::string_view::npos ? rest.size() : newline + 1;
    kept_.push_back({key, block.stream, block.time_ms, std::string(rest.substr(0, size))});
    if (kept_.size() > *keep_) kept_.pop_front();
    rest.remove_prefix(size);
  }
  return true;
}

bool PiecePrinter::print_kept() {
  finish();
  keep_.reset();
  bool going_on = true;
  for (const Kept& it : std::exchange(kept_, {})) {
    going_on = going_on && printer_.print(it.key, {it.stream, it.time_ms, it.text});
  }
  return going_on;
}

// Frames come nearly in the order of time, and records of many items stand in them item after item. A few megabytes are
// enough to put them in order.
bool PiecePrinter::wait_in_line(const LogRecord& record) {
  waiting_.emplace(record.time_ms, Kept{record.key, record.stream, record.time_ms, std::string(record.bytes)});
  waiting_bytes_ += record.bytes.size();
  return waiting_bytes_ <= kMostBytesWaiting || print_oldest();
}

bool PiecePrinter::print_oldest() {
  const Kept oldest = std::move(waiting_.begin()->second);
  waiting_.erase(waiting_.begin());
  waiting_bytes_ -= oldest.text.size();
  LineBlocks& lines = assembler(oldest.key);
  const bool going_on = lines.add({oldest.key, oldest.stream, oldest.time_ms, oldest.text});
  // Of millions of items only those in the middle of a line are remembered.
  if (lines.empty()) assemblers_.erase(oldest.key);
  return going_on;
}

Result<std::vector<LogPiece>> pieces_of(RunLogs& logs, const LoggedAttempt& attempt) {
  auto places = logs.reader().frames_of(attempt.extents);
  if (!places) return pass(places);
  std::vector<LogPiece> pieces;
  for (const FramePlace& place : *places) pieces.push_back({place, attempt.key});
  return pieces;
}

Result<bool> each_piece_since(LogReader& reader, FramePlace& from,
                              const std::function<Result<bool>(const LogPiece&)>& take) {
  for (const std::uint64_t segment : reader.segments()) {
    if (segment < from.segment) continue;
    if (segment > from.segment) from = {segment, 0, 0};
    while (true) {
      auto read = reader.frame_at(segment, from.next);
      if (!read) return pass(read);
      if (const std::optional<FramePlace>& place = *read) {
        from = *place;
      } else {
        auto damaged = reader.is_damaged(segment, from.next);
        if (!damaged) return pass(damaged);
        if (!*damaged) break;
        from = {segment, from.next, kNoMore};
      }
      auto going_on = take({from, std::nullopt});
      if (!going_on || !*going_on) return going_on;
    }
  }
  return true;
}

}  // namespace drover
