// A tar archive packed by zstd, whose last member says what the others must be: SHA256SUMS, as sha256sum writes it.
// Without that, a bit that turns over on a disk would come back as another number. Where members are many, their sums
// are written as they come, as SHA256SUMS.1 and so on, and each of these lists stands in the next: neither side holds
// more than one.
#pragma once

#include <archive.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

class SealedArchiveWriter {
 public:
  /// Makes the file, for its owner alone.
  static Result<SealedArchiveWriter> create(const std::string& path);

  /// Adds what the file holds now; its size. A file that is not there is an error before anything was added.
  Result<std::uint64_t> add(const std::string& path, const std::string& name);
  /// The last thing to do. The archive is durable when this returns.
  Result<void> seal();

 private:
  struct Close {
    void operator()(archive* it) const { archive_write_free(it); }
  };

  explicit SealedArchiveWriter(std::string path) : path_(std::move(path)), out_(archive_write_new()) {}
  Result<void> begin_member(const std::string& name, std::int64_t size, std::int64_t modified_s);
  Result<void> write(std::string_view bytes);

  /// A member with what sums_ says.
  Result<void> write_sums(const std::string& name);

  std::string path_;
  std::unique_ptr<archive, Close> out_;
  std::string sums_;
  std::uint64_t lists_ = 0;
};

struct ArchiveMember {
  std::string name;
  std::uint64_t bytes = 0;
};

/// What becomes of members.
struct ArchiveTaker {
  std::function<bool(std::string_view name)> is_wanted;
  /// Before the member is taken out.
  std::function<Result<void>(std::string_view name)> make_folder;
  std::function<void(const ArchiveMember& member)> taken;
};

/// Takes everything out into the folder, where there is nothing yet. An archive with a member that is not wanted, that
/// has no seal, or that the seal does not fit, is an error; what was taken out by then is worth nothing.
Result<void> unseal(const std::string& file, const std::string& folder, const ArchiveTaker& taker);

/// Returns when what is in a file, or which names a folder has, would survive a power cut.
Result<void> sync_path(const std::string& path);

}  // namespace drover
