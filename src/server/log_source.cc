#include "server/log_source.h"

#include <algorithm>
#include <deque>

#include "logs/lines.h"
#include "server/last_lines.h"

namespace drover {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

/// Reads frame by frame.
class LogBody : public HttpBodySource {
 public:
  LogBody(const std::string& folder, bool only_stderr) : reader_(folder), only_stderr_(only_stderr) {}

  Result<void> add(const Attempt& attempt) {
    auto frames = reader_.frames_of(ExtentList::decode(attempt.log.extents.value));
    if (!frames) return pass(frames);
    for (const FramePlace& place : *frames) frames_.push_back({{attempt.job, attempt.item, attempt.attempt}, place});
    return {};
  }

  Result<std::string> next() override {
    std::string piece;
    while (!frames_.empty() && piece.size() < kPieceBytes) {
      const auto [key, place] = frames_.front();
      frames_.pop_front();
      auto text = frame_text(reader_, place, key, only_stderr_);
      if (!text) return pass(text);
      piece += *text;
    }
    return piece;
  }

 private:
  struct Wanted {
    LogKey key;
    FramePlace place;
  };
  LogReader reader_;
  const bool only_stderr_;
  std::deque<Wanted> frames_;
};

/// A text that is there already.
class TextBody : public HttpBodySource {
 public:
  explicit TextBody(std::string text) : text_(std::move(text)) {}
  Result<std::string> next() override { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

Result<std::string> last_lines(LogBody& body, std::uint64_t count) {
  LastLines lines(count);
  while (true) {
    auto piece = body.next();
    if (!piece) return pass(piece);
    if (piece->empty()) return lines.text();
    lines.add(*piece);
  }
}

}  // namespace

Result<std::string> frame_text(LogReader& reader, const FramePlace& place, const LogKey& key, bool only_stderr) {
  auto raw = reader.frame(place);
  if (!raw) return pass(raw);
  if (*raw == nullptr) return "[drover: a part of the log is damaged and was left out]\n";
  std::string text;
  RecordCursor cursor(**raw);
  while (const auto record = cursor.next()) {
    if (record->key != key || (only_stderr && record->stream == LogStream::out)) continue;
    text += record->bytes;
  }
  return text;
}

Result<std::unique_ptr<HttpBodySource>> log_body(const std::string& folder, const std::vector<Attempt>& attempts,
                                                 const LogQuestion& question) {
  auto body = std::make_unique<LogBody>(folder, question.only_stderr);
  for (const Attempt& attempt : attempts) {
    if (question.attempt && attempt.attempt != question.attempt) continue;
    if (auto added = body->add(attempt); !added) return pass(added);
  }
  if (question.tail == 0) return body;
  auto text = last_lines(*body, question.tail);
  if (!text) return pass(text);
  return std::make_unique<TextBody>(std::move(*text));
}

}  // namespace drover
