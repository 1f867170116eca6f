#include "server/log_source.h"

#include <algorithm>
#include <deque>

#include "logs/lines.h"

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
      auto raw = reader_.frame(place);
      if (!raw) return pass(raw);
      if (*raw == nullptr) {
        piece += "[drover: a part of the log is damaged and was left out]\n";
        continue;
      }
      RecordCursor cursor(**raw);
      while (const auto record = cursor.next()) {
        if (record->key != key || (only_stderr_ && record->stream == LogStream::out)) continue;
        piece += record->bytes;
      }
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

/// Only the last lines: all of it is read, little of it is kept.
Result<std::string> last_lines(LogBody& body, std::uint64_t count) {
  std::deque<std::string> lines;
  std::string rest;
  while (true) {
    auto piece = body.next();
    if (!piece) return pass(piece);
    if (piece->empty()) break;
    rest += *piece;
    std::size_t begin = 0;
    for (std::size_t end = rest.find('\n'); end != std::string::npos; end = rest.find('\n', begin)) {
      lines.push_back(rest.substr(begin, end + 1 - begin));
      if (lines.size() > count) lines.pop_front();
      begin = end + 1;
    }
    rest.erase(0, begin);
  }
  if (!rest.empty()) {
    lines.push_back(std::move(rest));
    if (lines.size() > count) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

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
