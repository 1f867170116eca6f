// What drover and the helper program of a slot say to each other over their socket: frames of a size, a kind and a
// body. Both ends are the same build on the same machine, so numbers travel as they lie in memory.
//
//   to the helper:   limits, perhaps container, setup, then any of task, stop, recall, and setup again while nothing is
//                    to be run
//   from the helper: output, ended, returned
//
// The end of the stream is a message too: the helper kills everything it started, and exits.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace drover {

/// Where the helper finds what it was started with. Everything above is closed when it starts.
inline constexpr int kSlotSocket = 3;
inline constexpr int kSlotHold = 4;
inline constexpr int kSlotDeviceLock = 5;

using FrameSize = std::uint64_t;  // of what follows it: kind and body

enum class FrameKind : std::uint8_t {
  limits,     // memory limit, address space, processes, processors, cgroups
  container,  // a ContainerFrame
  setup,      // workdir, environment, log limit, nice
  task,       // token, program, stdout path, stderr path, wants terminal, arguments, environment
  stop,       // token, how, milliseconds that it has to have run for
  recall,     // nothing
  output,     // token, stream, time, then bytes to the end of the frame
  ended,      // token, ending, exit code, signal, was stopped, usage, reason, bytes of each stream, error of a copy
  returned,   // token
  order,      // from the helper to the first process of a container: what to do, address space, processes, wants
              // terminal, program, arguments, environment
};

/// Appends one frame to a buffer; the size is filled in at the end of its life.
class FrameWriter {
 public:
  FrameWriter(std::string& out, FrameKind kind) : out_(out), start_(out.size()) {
    put(FrameSize{0});
    put(kind);
  }
  ~FrameWriter() {
    const FrameSize size = out_.size() - start_ - sizeof(FrameSize);
    std::memcpy(out_.data() + start_, &size, sizeof(size));
  }
  FrameWriter(const FrameWriter&) = delete;
  FrameWriter& operator=(const FrameWriter&) = delete;

  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view text) {
    put(static_cast<std::uint64_t>(text.size()));
    out_.append(text).push_back('\0');
  }
  template <class Texts>
  void texts(const Texts& texts) {
    put(static_cast<std::uint64_t>(texts.size()));
    for (const auto& each : texts) text(each);
  }

 private:
  std::string& out_;
  std::size_t start_;
};

/// Takes a frame apart in the order in which it was written. What is missing reads as zero or empty, and intact()
/// says so.
class FrameReader {
 public:
  explicit FrameReader(std::span<const char> frame) : rest_(frame) { kind_ = get<FrameKind>(); }

  FrameKind kind() const { return kind_; }
  bool intact() const { return intact_; }

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (has(sizeof(value))) {
      std::memcpy(&value, rest_.data(), sizeof(value));
      rest_ = rest_.subspan(sizeof(value));
    }
    return value;
  }

  /// A NUL follows the text, so data() can go to the kernel as it lies.
  std::string_view text() {
    const auto size = get<std::uint64_t>();
    if (size >= rest_.size()) intact_ = false;
    if (!intact_) return {"", 0};
    const std::string_view text(rest_.data(), size);
    rest_ = rest_.subspan(size + 1);
    return text;
  }

  /// Whatever is left.
  std::string_view rest() const { return {rest_.data(), rest_.size()}; }

 private:
  bool has(std::uint64_t size) {
    if (size > rest_.size()) intact_ = false;
    return intact_;
  }

  std::span<const char> rest_;
  FrameKind kind_{};
  bool intact_ = true;
};

}  // namespace drover
