// Messages to be sent, read and checked on a thread of their own while others are on their way. Whoever sends takes
// what is there: many at once when they come fast, a single one without delay when they come slowly.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "base/result.h"
#include "cli/item_source.h"
#include "core/streams/stream_records.h"
#include "wire/message_json.h"

namespace drover {

class MessageReader {
 public:
  struct Options {
    ItemSource source;
    bool json_lines = false;  // each is an object, else a body
    MessageDraft like;        // what messages have that do not say it themselves
    std::uint64_t skip = 0;   // of the first ones
    StreamSpec stream;        // that they are for
  };
  /// What is sent at once.
  struct Batch {
    std::vector<MessageDraft> messages;  // none: that was all
    std::uint64_t read_bytes = 0;        // of the source, by now
    bool has_more = false;               // others wait already
  };

  /// `stop` ends it before its time.
  MessageReader(Options options, const std::stop_token& stop);
  ~MessageReader();
  MessageReader(const MessageReader&) = delete;
  MessageReader& operator=(const MessageReader&) = delete;

  /// Waits for at least one. What is wrong with a message is said when all before it were taken.
  Result<Batch> next();

 private:
  struct Waiting {
    MessageDraft message;
    std::uint64_t read_bytes = 0;
  };

  void read();
  Result<void> take(std::string_view line);
  Result<MessageDraft> message_of(std::string_view line) const;

  const Options options_;
  std::stop_source stop_;  // when nobody wants more
  const std::stop_callback<std::function<void()>> stop_with_;
  std::uint64_t seen_ = 0;
  std::uint64_t read_bytes_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any changed_;
  std::deque<Waiting> waiting_;
  std::uint64_t waiting_bytes_ = 0;
  bool ended_ = false;
  std::optional<Error> failed_;
  std::thread thread_;
};

}  // namespace drover
