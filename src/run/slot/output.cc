#include "run/slot/output.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace drover::slot {
namespace {

constexpr std::size_t kMostRead = std::size_t{128} << 10;
constexpr std::size_t kMostReadScarce = std::size_t{64} << 10;
constexpr std::size_t kEndBytes = std::size_t{1} << 20;
// What is read within this time travels and is kept as one piece.
constexpr std::int64_t kOnePieceMs = 10;
constexpr std::size_t kLargePiece = std::size_t{64} << 10;

// Where the end of a long output is read to. Costs nothing before the first use, nor after shrink().
alignas(4096) char scratch[kMostReadScarce];

}  // namespace

void Output::begin(Token token, std::uint64_t limit, Memory memory) {
  token_ = token;
  limit_ = limit;
  memory_ = memory;
  const std::uint64_t end = std::min<std::uint64_t>(kEndBytes, limit / 2);
  head_left_ = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit - end;
  frame_ = kNone;
  end_.clear();
  end_.keep_at_most(std::max<std::size_t>(end, 256));
}

// Only the last frame can grow: frames that say what was returned may have been added behind it.
bool Output::may_extend(LogStream stream, std::int64_t now_ms) const {
  return frame_ != kNone && outbox_.is_unsent(frame_) && frame_end_ == outbox_.position() && stream == stream_ &&
         now_ms - time_ms_ <= kOnePieceMs && frame_end_ - frame_ < kLargePiece;
}

void Output::begin_frame(LogStream stream, std::int64_t time_ms) {
  frame_ = outbox_.position();
  stream_ = stream;
  time_ms_ = time_ms;
  FrameWriter frame(outbox_.bytes(), FrameKind::output);
  frame.put(token_);
  frame.put(stream);
  frame.put(time_ms);
}

void Output::end_frame() {
  frame_end_ = outbox_.position();
  const FrameSize size = frame_end_ - frame_ - sizeof(FrameSize);
  std::memcpy(outbox_.bytes().data() + outbox_.index_of(frame_), &size, sizeof(size));
}

std::span<char> Output::space(LogStream stream, std::int64_t now_ms) {
  if (head_left_ == 0) {
    has_been_large_ = true;
    stream_ = stream;
    time_ms_ = now_ms;
    return scratch;
  }
  if (!may_extend(stream, now_ms)) begin_frame(stream, now_ms);
  std::string& out = outbox_.bytes();
  fill_at_ = out.size();
  const std::size_t most_read = memory_ == Memory::plenty ? kMostRead : kMostReadScarce;
  const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(most_read, head_left_));
  out.resize_and_overwrite(fill_at_ + most, [&](char*, std::size_t) { return fill_at_ + most; });
  return {out.data() + fill_at_, most};
}

void Output::filled(std::size_t size) {
  if (head_left_ == 0) {
    if (size > 0) end_.add(stream_, time_ms_, {scratch, size});
    return;
  }
  std::string& out = outbox_.bytes();
  out.resize(fill_at_ + size);
  head_left_ -= size;
  if (head_left_ == 0) cut_ms_ = time_ms_;
  constexpr std::size_t kHeader =
      sizeof(FrameSize) + sizeof(FrameKind) + sizeof(Token) + sizeof(LogStream) + sizeof(std::int64_t);
  if (outbox_.position() == frame_ + kHeader) {  // nothing came: no frame
    out.resize(outbox_.index_of(frame_));
    frame_ = kNone;
    return;
  }
  has_been_large_ = has_been_large_ || out.size() > kLargePiece;
  end_frame();
}

std::size_t Output::take(int pipe, LogStream stream, std::int64_t now_ms) {
  if (head_left_ > 0 || memory_ == Memory::scarce) return 0;
  has_been_large_ = true;
  return end_.take(pipe, stream, now_ms);
}

void Output::add_frame(LogStream stream, std::int64_t time_ms, std::string_view first, std::string_view second) {
  begin_frame(stream, time_ms);
  outbox_.bytes().append(first).append(second);
  end_frame();
}

void Output::end() {
  end_.look();
  if (end_.dropped() > 0) {
    const std::string note = "[drover: " + std::to_string(end_.dropped()) + " bytes were cut out here; the limit is " +
                             std::to_string(limit_) + " bytes of output]\n";
    add_frame(LogStream::note, cut_ms_, note, {});
  }
  end_.each([&](LogStream stream, std::int64_t time_ms, std::string_view first, std::string_view second) {
    add_frame(stream, time_ms, first, second);
  });
  end_.clear();
  frame_ = kNone;
}

bool Output::shrink() {
  if (!has_been_large_ || !outbox_.empty()) return false;
  has_been_large_ = false;
  outbox_.shrink();
  ::madvise(scratch, sizeof(scratch), MADV_DONTNEED);
  return true;
}

}  // namespace drover::slot
