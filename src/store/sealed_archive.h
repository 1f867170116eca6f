// A tar archive packed by zstd, whose last member says what the others must be: SHA256SUMS, as sha256sum writes it.
// Without that, a bit that turns over on a disk would come back as another number.
#pragma once

#include <archive.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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

  std::string path_;
  std::unique_ptr<archive, Close> out_;
  std::string sums_;
};

struct ArchiveMember {
  std::string name;
  std::uint64_t bytes = 0;
};

/// Takes everything out into the folder, where there is nothing yet. An archive with a member that is not wanted, that
/// has no seal, or that the seal does not fit, is an error; what was taken out by then is worth nothing.
Result<std::vector<ArchiveMember>> unseal(const std::string& file, const std::string& folder,
                                          const std::function<bool(std::string_view name)>& is_wanted);

/// Returns when what is in a file, or which names a folder has, would survive a power cut.
Result<void> sync_path(const std::string& path);

}  // namespace drover
