// Messages of a stream that are a job's items: what jobs and streams know of each other.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"

namespace drover {

/// What became of an item, as far as its message is concerned.
enum class MessageResult : std::uint8_t {
  processed,  // it is deleted
  failed,     // it can be received again, as if its receiver had let its time run out
  untouched,  // it can be received again at once, as if nobody had received it
};

/// Streams, to jobs.
class MessageSource {
 public:
  virtual ~MessageSource() = default;
  virtual bool has_stream(const std::string& stream) const = 0;
  /// Whether take() would take one.
  virtual bool has_ready(const std::string& stream) = 0;
  /// Whether it has no messages, hidden ones included.
  virtual bool is_empty(const std::string& stream) const = 0;
  /// At most so many messages, of a FIFO stream one of each group, become the job's items from `first` on. Each is
  /// hidden until its item is settled or the job is over.
  virtual std::uint64_t take(const std::string& stream, JobId job, ItemIndex first, std::uint64_t most) = 0;
  virtual void on_settled(JobId job, ItemIndex item, MessageResult result) = 0;
  virtual void on_job_over(JobId job) = 0;
};

/// Jobs, to streams.
class MessageTaker {
 public:
  virtual ~MessageTaker() = default;
  /// There may be messages to take, or none any more. Gives how many jobs that concerned.
  virtual std::size_t on_stream_changed(const std::string& stream) = 0;
  /// Whether it has ended, or is unknown.
  virtual bool is_over(JobId job) const = 0;
  /// Whether an attempt at the item has failed, which waits for another one.
  virtual bool has_failed(JobId job, ItemIndex item) const = 0;
};

}  // namespace drover
