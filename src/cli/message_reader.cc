#include "cli/message_reader.h"

#include <fmt/format.h>

#include <boost/json.hpp>

namespace drover {
namespace json = boost::json;
namespace {

// In one request, but for a single message.
constexpr std::uint64_t kMostBatchBytes = std::uint64_t{4} << 20;
// Read ahead, while a request is under way.
constexpr std::uint64_t kMostWaitingBytes = 2 * kMostBatchBytes;
constexpr std::size_t kMostMessagesWaiting = 4 * kMostMessagesPerSend;

}  // namespace

MessageReader::MessageReader(Options options, const std::stop_token& stop)
    : options_(std::move(options)), stop_with_(stop, [this] { stop_.request_stop(); }), thread_([this] { read(); }) {}

MessageReader::~MessageReader() {
  stop_.request_stop();
  thread_.join();
}

void MessageReader::read() {
  auto done = read_items(options_.source, [this](std::string_view line) { return take(line); }, stop_.get_token());
  const std::scoped_lock lock(mutex_);
  ended_ = true;
  if (!done) failed_ = done.error();
  changed_.notify_all();
}

Result<void> MessageReader::take(std::string_view line) {
  read_bytes_ += line.size() + 1;
  if (seen_++ < options_.skip) return {};
  auto message = message_of(line);
  if (message) {
    if (auto fits = check_message(options_.stream, *message); !fits) message = pass(fits);
  }
  if (!message) {
    // Of a line the number is said by who reads lines.
    if (std::holds_alternative<WordsSource>(options_.source)) {
      message.error().message = fmt::format("message {}: {}", seen_, message.error().message);
    }
    return pass(message);
  }
  const std::uint64_t bytes = message->bytes();
  std::unique_lock lock(mutex_);
  const bool has_room = changed_.wait(lock, stop_.get_token(), [&] {
    return waiting_.size() < kMostMessagesWaiting && waiting_bytes_ < kMostWaitingBytes;
  });
  if (!has_room) return fail(ErrorCode::stopped, "interrupted");
  waiting_.push_back({std::move(*message), read_bytes_});
  waiting_bytes_ += bytes;
  changed_.notify_all();
  return {};
}

Result<MessageDraft> MessageReader::message_of(std::string_view line) const {
  MessageDraft out = options_.like;
  if (!options_.json_lines) {
    out.body = line;
    return out;
  }
  json::error_code error;
  const json::value value = json::parse(line, error);
  if (error) {
    return fail(ErrorCode::bad_input, fmt::format("not valid JSON: {}", error.message()),
                R"(write {"body": "some text"}; omit --json-lines if lines are bodies)");
  }
  auto read = message_from_json(value);
  if (!read) return read;
  if (read->group.empty()) read->group = out.group;
  if (!read->delay_ms) read->delay_ms = out.delay_ms;
  return read;
}

Result<MessageReader::Batch> MessageReader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop_.get_token(), [this] { return ended_ || !waiting_.empty(); });
  if (stop_.stop_requested()) return fail(ErrorCode::stopped, "interrupted");
  if (waiting_.empty() && failed_) return std::unexpected(*failed_);
  Batch out;
  for (std::uint64_t bytes = 0; !waiting_.empty() && out.messages.size() < kMostMessagesPerSend;) {
    const std::uint64_t more = waiting_.front().message.bytes();
    if (!out.messages.empty() && bytes + more > kMostBatchBytes) break;
    bytes += more;
    waiting_bytes_ -= more;
    out.read_bytes = waiting_.front().read_bytes;
    out.messages.push_back(std::move(waiting_.front().message));
    waiting_.pop_front();
  }
  out.has_more = !waiting_.empty();
  changed_.notify_all();
  return out;
}

}  // namespace drover
