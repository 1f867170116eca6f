#include "server/log_source.h"

#include <algorithm>
#include <boost/json.hpp>
#include <deque>

#include "base/utf8.h"
#include "server/last_lines.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

/// Reads frame by frame.
class LogBody : public HttpBodySource {
 public:
  LogBody(const std::string& folder, const LogQuestion& question) : reader_(folder), question_(question) {}

  Result<void> add(const Attempt& attempt) {
    auto frames = reader_.frames_of(ExtentList::decode(attempt.log.extents.value));
    if (!frames) return pass(frames);
    if (frames->empty()) return {};
    attempts_.push_back({std::make_unique<LogText>(LogKey{attempt.job, attempt.item, attempt.attempt}, question_.form,
                                                   question_.only_stderr),
                         {frames->begin(), frames->end()}});
    return {};
  }

  Result<std::string> next() override {
    std::string piece;
    while (!attempts_.empty() && piece.size() < kPieceBytes) {
      auto& [text, frames] = attempts_.front();
      if (frames.empty()) {
        piece += text->finish();
        attempts_.pop_front();
        continue;
      }
      const FramePlace place = frames.front();
      frames.pop_front();
      auto more = text->next(reader_, place);
      if (!more) return pass(more);
      piece += *more;
    }
    return piece;
  }

 private:
  struct Wanted {
    std::unique_ptr<LogText> text;
    std::deque<FramePlace> frames;
  };
  LogReader reader_;
  const LogQuestion question_;
  std::deque<Wanted> attempts_;
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

LogText::LogText(const LogKey& key, LogForm form, bool only_stderr)
    : key_(key), form_(form), only_stderr_(only_stderr), lines_([this](const LineBlock& block) {
        for (std::string_view rest = block.bytes; !rest.empty();) {
          const std::size_t newline = std::min(rest.find('\n'), rest.size());
          add_line(block.stream, block.time_ms, rest.substr(0, newline));
          rest.remove_prefix(std::min(newline + 1, rest.size()));
        }
        return true;
      }) {}

void LogText::add_line(LogStream stream, std::int64_t time_ms, std::string_view line) {
  text_ += json::serialize(json::object{{"item", key_.item.value},
                                        {"attempt", key_.attempt.value},
                                        {"stream", std::string(to_string(stream))},
                                        {"time_ms", time_ms},
                                        {"text", utf8(line)}});
  text_ += '\n';
}

Result<std::string> LogText::next(LogReader& reader, const FramePlace& place) {
  auto raw = reader.frame(place);
  if (!raw) return pass(raw);
  if (*raw == nullptr) return note("[drover: part of the log is damaged and is omitted]");
  RecordCursor cursor(**raw);
  while (const auto record = cursor.next()) {
    if (record->key != key_ || (only_stderr_ && record->stream == LogStream::out)) continue;
    if (form_ == LogForm::text) {
      text_ += record->bytes;
    } else {
      lines_.add(*record);
    }
  }
  return std::exchange(text_, {});
}

std::string LogText::note(std::string_view words) {
  if (form_ == LogForm::json) {
    add_line(LogStream::note, 0, words);
  } else {
    text_.append(words).append(1, '\n');
  }
  return std::exchange(text_, {});
}

std::string LogText::finish() {
  lines_.finish();
  return std::exchange(text_, {});
}

Result<std::unique_ptr<HttpBodySource>> log_body(const std::string& folder, const std::vector<Attempt>& attempts,
                                                 const LogQuestion& question) {
  auto body = std::make_unique<LogBody>(folder, question);
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
