#include "run/docker/attempt_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>

#include "base/text.h"
#include "run/docker/start_failure.h"

namespace drover {
namespace {

constexpr std::size_t kEndBytes = std::size_t{1} << 20;
constexpr std::size_t kLeastEnd = 256;

std::int64_t epoch_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::string AttemptOutput::begin(const Task& task, std::uint64_t limit) {
  token_ = task.token;
  limit_ = limit;
  const std::uint64_t end = std::min<std::uint64_t>(kEndBytes, limit / 2);
  head_left_ = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : limit - end;
  end_.keep_at_most(std::max<std::size_t>(end, kLeastEnd));
  std::string problem = open_copy(stdout_, task.stdout_path);
  return problem.empty() ? open_copy(stderr_, task.stderr_path) : problem;
}

std::string AttemptOutput::open_copy(Stream& stream, const std::string& path) {
  if (path.empty()) return {};
  stream.copy_path = path;
  // Appending lets both streams share one file. Not waiting is for a FIFO that nobody reads.
  stream.copy = Descriptor(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
  return stream.copy ? std::string() : concat("could not create ", path, ": ", strerrordesc_np(errno));
}

bool AttemptOutput::take(std::string_view bytes) {
  // Of the end only the last is kept: nobody has to wait for that.
  if (head_left_ > 0 && !takes_everything_ && events_.is_full()) return false;
  frames_.read(bytes, [&](LogStream stream, std::string_view piece) { add(stream, piece); });
  return true;
}

void AttemptOutput::add(LogStream stream, std::string_view bytes) {
  if (!is_held_) return pass_on(stream, bytes);
  if (held_.empty()) held_stream_ = stream;
  if (stream == held_stream_) {
    held_ += bytes;
    if (may_be_start_failure(stream, held_)) return;
    bytes = {};
  }
  is_held_ = false;
  pass_on(held_stream_, std::exchange(held_, {}));
  pass_on(stream, bytes);
}

void AttemptOutput::pass_on(LogStream stream, std::string_view bytes) {
  if (bytes.empty()) return;
  Stream& from = of(stream);
  from.bytes += bytes.size();
  copy(from, bytes);
  const std::int64_t now_ms = epoch_ms();
  if (head_left_ > 0) {
    const std::string_view head = bytes.substr(0, std::min<std::uint64_t>(head_left_, bytes.size()));
    events_.print(token_, stream, now_ms, head);
    head_left_ -= head.size();
    cut_ms_ = now_ms;
    bytes.remove_prefix(head.size());
  }
  if (!bytes.empty()) end_.add(stream, now_ms, bytes);
}

std::string AttemptOutput::end(int exit_code) {
  if (is_held_) {
    if (!start_failure(held_stream_, held_, exit_code).empty()) return std::exchange(held_, {});
    is_held_ = false;
    pass_on(held_stream_, std::exchange(held_, {}));
  }
  if (end_.dropped() > 0) {
    events_.print(
        token_, LogStream::note, cut_ms_,
        concat("[drover: ", end_.dropped(), " bytes were cut out here; the limit is ", limit_, " bytes of output]\n"));
  }
  end_.each([&](LogStream stream, std::int64_t time_ms, std::string_view first, std::string_view second) {
    events_.print(token_, stream, time_ms, concat(first, second));
  });
  end_.clear();
  return {};
}

void AttemptOutput::copy(Stream& stream, std::string_view bytes) {
  while (stream.copy && stream.copy_error == 0 && !bytes.empty()) {
    const ssize_t wrote = ::write(stream.copy.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      stream.copy_error = errno;
    } else {
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
  }
}

std::vector<std::string> AttemptOutput::problems() const {
  std::vector<std::string> found;
  for (const Stream* stream : {&stdout_, &stderr_}) {
    if (stream->copy_error == 0) continue;
    found.push_back(concat("could not write all of ", stream->copy_path, ": ", strerrordesc_np(stream->copy_error)));
  }
  return found;
}

}  // namespace drover
