#include "run/slot/stream_capture.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace drover::slot {
namespace {

constexpr std::size_t kFullPipe = std::size_t{64} << 10;
constexpr int kWidePipe = 1 << 20;
constexpr int kWidePipeScarce = 256 << 10;

std::int64_t epoch_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000 + now.tv_nsec / 1'000'000;
}

}  // namespace

std::string StreamCapture::open(const char* copy_path) {
  never_waits_ = is_wide_ = false;
  if (*copy_path != '\0') {
    copy_path_ = copy_path;
    // Appending lets both streams share one file. Not waiting is for a FIFO that nobody reads.
    copy_ = Descriptor(
        ::open(copy_path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666));
    if (!copy_) return "could not create " + copy_path_ + ": " + strerrordesc_np(errno);
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::string("could not create a pipe: ") + strerrordesc_np(errno);
  read_end_ = Descriptor(ends[0]);
  write_end_ = Descriptor(ends[1]);
  return {};
}

void StreamCapture::forget() {
  bytes_ = 0;
  copy_error_ = 0;
}

void StreamCapture::close() {
  read_end_.reset();
  write_end_.reset();
  copy_.reset();
}

std::size_t StreamCapture::take_at_most(std::size_t most) {
  // The attempt could be reading its own pipe and be faster than we are. Set this late: most items write nothing.
  if (!never_waits_) {
    ::fcntl(read_end_.get(), F_SETFL, O_NONBLOCK);
    never_waits_ = true;
  }
  const std::int64_t now_ms = epoch_ms();
  if (is_wide_ && !copy_) {
    if (const std::size_t moved = take_unread(now_ms); moved > 0) return moved;
  }
  const std::span<char> space = output_.space(stream_, now_ms);
  const ssize_t got = ::read(read_end_.get(), space.data(), std::min(most, space.size()));
  const std::size_t size = got > 0 ? static_cast<std::size_t>(got) : 0;
  if (size > 0) copy(space.data(), size);
  output_.filled(size);
  bytes_ += size;
  // Somebody writes more than a pipe holds: a wider one saves turns. Where that is not allowed it stays as it is.
  if (size >= kFullPipe && !is_wide_) {
    ::fcntl(read_end_.get(), F_SETPIPE_SZ, output_.memory() == Memory::plenty ? kWidePipe : kWidePipeScarce);
    is_wide_ = true;
  }
  return size;
}

std::size_t StreamCapture::take_unread(std::int64_t now_ms) {
  int left = 0;
  if (::ioctl(read_end_.get(), FIONREAD, &left) != 0 || static_cast<std::size_t>(left) < kFullPipe) return 0;
  const std::size_t size = output_.take(read_end_.get(), stream_, now_ms);
  bytes_ += size;
  return size;
}

void StreamCapture::drain() {
  int left = 0;
  if (::ioctl(read_end_.get(), FIONREAD, &left) != 0) return;
  while (left > 0) {
    const std::size_t got = take_at_most(static_cast<std::size_t>(left));
    if (got == 0) return;
    left -= static_cast<int>(got);
  }
}

void StreamCapture::copy(const char* bytes, std::size_t size) {
  if (!copy_ || copy_error_ != 0) return;
  while (size > 0) {
    const ssize_t wrote = ::write(copy_.get(), bytes, size);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) {
      copy_error_ = errno;
      return;
    }
    bytes += wrote;
    size -= static_cast<std::size_t>(wrote);
  }
}

std::string StreamCapture::copy_problem() const {
  if (copy_error_ == 0) return {};
  return "could not write all of " + copy_path_ + ": " + strerrordesc_np(copy_error_);
}

}  // namespace drover::slot
