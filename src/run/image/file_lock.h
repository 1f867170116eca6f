// flock, with an owner. It belongs to an open file, so threads of one process exclude each other as processes do, and
// it is gone with whoever is killed.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "ports/descriptor.h"

namespace drover {

enum class LockKind : std::uint8_t { shared, exclusive };

class FileLock {
 public:
  FileLock() = default;

  /// Nothing: somebody else has it, or the file is not there (`make` makes it).
  enum class IfAbsent : std::uint8_t { make, leave };
  static std::optional<FileLock> try_take(const std::string& path, LockKind kind, IfAbsent if_absent);
  /// Waits for it. Nothing: the file is not there, or `stop` was asked for.
  static std::optional<FileLock> take(const std::string& path, LockKind kind, IfAbsent if_absent,
                                      const std::stop_token& stop = {});

  int descriptor() const { return file_.get(); }
  explicit operator bool() const { return static_cast<bool>(file_); }
  void reset() { file_.reset(); }

 private:
  enum class Took : std::uint8_t { yes, busy, absent };
  static Took attempt(const std::string& path, LockKind kind, IfAbsent if_absent, FileLock& out);
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace drover
