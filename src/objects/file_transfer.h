// Brings objects into files and files into objects. Large ones travel in several pieces at once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <semaphore>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/objects.h"

namespace drover {

class FileTransfer {
 public:
  /// One more connection to the same store, for another thread.
  using Open = std::function<Result<std::unique_ptr<ObjectStore>>()>;

  struct Options {
    std::uint64_t piece_bytes = std::uint64_t{16} << 20;
    std::ptrdiff_t pieces_at_once = 4;  // of all that this one transfers, beside a thread for each object
  };
  FileTransfer() : FileTransfer(Options()) {}
  explicit FileTransfer(Options options) : options_(options), spare_(options.pieces_at_once) {}

  /// Bytes that have passed; from any thread.
  using Progress = std::function<void(std::uint64_t bytes)>;

  // From any thread. `store` is the caller's own connection.

  /// The file is there as a whole or not at all, and is what the store says it is. Not synced.
  Result<ObjectInfo> download(ObjectStore& store, const Open& open, const std::string& key, const std::string& path,
                              const Progress& progress, const std::stop_token& stop);
  /// The file's name may say its type.
  Result<ObjectInfo> upload(ObjectStore& store, const Open& open, const std::string& path, const std::string& key,
                            const Progress& progress, const std::stop_token& stop);
  /// The same of a file that is open; `path` is what people know it by.
  Result<ObjectInfo> upload_open(ObjectStore& store, const Open& open, int file, const std::string& path,
                                 const std::string& key, const Progress& progress, const std::stop_token& stop);

 private:
  using Piece = std::function<Result<void>(ObjectStore& store, std::uint64_t number)>;
  Result<void> in_pieces(ObjectStore& store, const Open& open, std::uint64_t pieces, const std::stop_token& stop,
                         const Piece& piece);

  const Options options_;
  std::counting_semaphore<> spare_;  // threads beside the callers'
};

/// "image/png" of "a.PNG"; empty: nobody knows.
std::string_view type_of_file(std::string_view path);

}  // namespace drover
