#include "run/image/layer_unpacker.h"

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <memory>
#include <optional>

#include "base/check.h"
#include "base/text.h"
#include "base/units.h"
#include "run/image/blob_stream.h"

namespace drover {
namespace {

constexpr std::string_view kWhiteout = ".wh.";
constexpr std::string_view kOpaque = ".wh..wh..opq";
constexpr std::uint64_t kBlock = 4096;
// What libarchive reads before it gives us an entry or a piece of a file: names, attributes, the list of a sparse
// file's holes. It keeps all of that in memory, and takes up to twelve times as much for it.
constexpr std::uint64_t kMostHeaderBytes = std::uint64_t{4} << 20;

struct FreeArchive {
  void operator()(archive* it) const { archive_read_free(it); }
};
struct FreeEntry {
  void operator()(archive_entry* it) const { archive_entry_free(it); }
};

/// Names in pax headers are UTF-8, and libarchive brings them into the locale of the thread. In the C locale it would
/// lose all that is not ASCII.
class Utf8Thread {
 public:
  Utf8Thread() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
    if (locale_ != nullptr) before_ = ::uselocale(locale_);
  }
  ~Utf8Thread() {
    if (locale_ == nullptr) return;
    ::uselocale(before_);
    ::freelocale(locale_);
  }
  Utf8Thread(const Utf8Thread&) = delete;
  Utf8Thread& operator=(const Utf8Thread&) = delete;

 private:
  locale_t locale_;
  locale_t before_ = nullptr;
};

/// What libarchive's callback reads from. The stream's error is kept, since libarchive would only say "read error".
struct Input {
  BlobStream stream;
  const std::stop_token& stop;
  std::optional<ImageError> error;
  std::uint64_t header_bytes = 0;  // read since libarchive last gave us something

  la_ssize_t read(archive* reader, const void** piece) {
    if (stop.stop_requested()) {
      error = ImageError{ImageFault::cancelled, Blame::nobody, "the fetch was cancelled", {}};
    } else if (header_bytes > kMostHeaderBytes) {
      error = ImageError{ImageFault::too_large, Blame::user,
                         concat("a file in it has more than ", format_size(kMostHeaderBytes),
                                " of headers (names, attributes, sparse regions)"),
                         "build the image with shorter names, fewer attributes or fewer sparse regions"};
    } else if (auto next = stream.next(); next) {
      *piece = next->data();
      header_bytes += next->size();
      return static_cast<la_ssize_t>(next->size());
    } else {
      error = std::move(next.error());
    }
    archive_set_error(reader, EIO, "the layer cannot be read");
    return -1;
  }
};

la_ssize_t read_piece(archive* reader, void* input, const void** piece) {
  return static_cast<Input*>(input)->read(reader, piece);
}

std::unexpected<ImageError> damaged(std::string_view how) {
  return image_fail(ImageFault::corrupt, concat("a layer cannot be unpacked: ", how), "build or push the image again");
}

EntryAttributes attributes_of(archive_entry* entry) {
  EntryAttributes out;
  out.mode = archive_entry_perm(entry);
  out.user = static_cast<uid_t>(archive_entry_uid(entry));
  out.group = static_cast<gid_t>(archive_entry_gid(entry));
  out.modified = {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)};
  archive_entry_xattr_reset(entry);
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  while (archive_entry_xattr_next(entry, &name, &value, &size) == ARCHIVE_OK) {
    if (name != nullptr) out.xattrs.emplace_back(name, std::string(static_cast<const char*>(value), size));
  }
  return out;
}

class Unpacking {
 public:
  Unpacking(Input& input, LayerTree& tree, const LayerDemand& demand) : input_(input), tree_(tree), demand_(demand) {}

  ImageResult<void> entry(archive* reader, archive_entry* entry);
  /// What nobody has read of the entry's data.
  ImageResult<void> skip_data(archive* reader);
  std::uint64_t bytes() const { return bytes_; }

 private:
  ImageResult<void> hidden(const LayerPath& path);
  ImageResult<void> file(archive* reader, archive_entry* entry, const LayerPath& path);
  ImageResult<void> data(archive* reader, int file, const LayerPath& path);

  int next_piece(archive* reader, const void** piece, std::size_t* size, la_int64_t* offset);

  Input& input_;
  LayerTree& tree_;
  const LayerDemand& demand_;
  std::uint64_t bytes_ = 0;    // on the disk
  std::uint64_t logical_ = 0;  // with the holes
};

ImageResult<void> Unpacking::entry(archive* reader, archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  if (raw == nullptr) {
    return image_fail(ImageFault::unsupported,
                      "a file name in a layer is not valid UTF-8 and declares no other encoding",
                      "rebuild the image with UTF-8 file names");
  }
  auto path = clean_path(raw, demand_.limits.path_bytes);
  if (!path) return pass(path);
  if (path->name.starts_with(kWhiteout)) return hidden(*path);
  const auto user = archive_entry_uid(entry);
  const auto group = archive_entry_gid(entry);
  constexpr auto kMostId = std::numeric_limits<uid_t>::max() - 1;
  if (user < 0 || group < 0 || user > kMostId || group > kMostId)
    return damaged(concat(shown(raw), " has an invalid owner"));

  if (const char* target = archive_entry_hardlink(entry); target != nullptr) {
    auto to = clean_path(target, demand_.limits.path_bytes);
    if (!to) return pass(to);
    return tree_.hard_link(*path, *to);
  }
  const EntryAttributes attributes = attributes_of(entry);
  bytes_ += kBlock;
  switch (archive_entry_filetype(entry)) {
    case AE_IFREG: return file(reader, entry, *path);
    case AE_IFDIR: return tree_.folder(*path, attributes);
    case AE_IFLNK: {
      const char* target = archive_entry_symlink(entry);
      if (target == nullptr || *target == '\0') return damaged(concat("link ", shown(raw), " has no target"));
      return tree_.symlink(*path, target, attributes);
    }
    case AE_IFCHR:
      return tree_.node(*path, S_IFCHR, makedev(archive_entry_rdevmajor(entry), archive_entry_rdevminor(entry)),
                        attributes);
    case AE_IFBLK:
      return tree_.node(*path, S_IFBLK, makedev(archive_entry_rdevmajor(entry), archive_entry_rdevminor(entry)),
                        attributes);
    case AE_IFIFO: return tree_.node(*path, S_IFIFO, 0, attributes);
    default: tree_.note("entry of an unsupported file type"); return {};
  }
}

/// Docker's form of what a layer takes away.
ImageResult<void> Unpacking::hidden(const LayerPath& path) {
  if (path.name == kOpaque) return tree_.opaque(path.parent);
  if (path.name.starts_with(".wh..wh.")) return {};  // aufs' own notes
  const LayerPath gone{path.parent, path.name.substr(kWhiteout.size())};
  return tree_.whiteout(gone);
}

ImageResult<void> Unpacking::file(archive* reader, archive_entry* entry, const LayerPath& path) {
  const auto size = archive_entry_size(entry);
  if (size < 0) return damaged(concat(shown(path.text()), " has an invalid size"));
  logical_ += std::min(static_cast<std::uint64_t>(size), std::numeric_limits<std::uint64_t>::max() - logical_);
  if (logical_ > demand_.bytes_left) {
    return image_fail(ImageFault::too_large,
                      concat("the files of the image are larger than ", format_size(demand_.limits.bytes),
                             "; the last one was ", shown(path.text())),
                      "make the image smaller, or raise the limit with DROVER_IMAGE_SIZE");
  }
  auto made = tree_.file(path);
  if (!made) return pass(made);
  if (size > 0) {
    if (auto written = data(reader, made->get(), path); !written) return pass(written);
    if (::ftruncate(made->get(), size) != 0) return std::unexpected(image_errno(errno, shown(path.text())));
  }
  return tree_.finish(*made, attributes_of(entry));
}

int Unpacking::next_piece(archive* reader, const void** piece, std::size_t* size, la_int64_t* offset) {
  input_.header_bytes = 0;
  return archive_read_data_block(reader, piece, size, offset);
}

ImageResult<void> Unpacking::skip_data(archive* reader) {
  const void* piece = nullptr;
  std::size_t size = 0;
  la_int64_t offset = 0;
  int result = ARCHIVE_OK;
  while (result == ARCHIVE_OK || result == ARCHIVE_RETRY) result = next_piece(reader, &piece, &size, &offset);
  if (result == ARCHIVE_EOF || result == ARCHIVE_WARN) return {};
  return damaged("it is truncated");
}

ImageResult<void> Unpacking::data(archive* reader, int file, const LayerPath& path) {
  while (true) {
    const void* piece = nullptr;
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int result = next_piece(reader, &piece, &size, &offset);
    if (result == ARCHIVE_EOF) return {};
    if (result == ARCHIVE_RETRY) continue;
    if (result != ARCHIVE_OK) {
      return damaged(
          concat(shown(path.text()), ": ",
                 archive_error_string(reader) == nullptr ? "it is truncated" : archive_error_string(reader)));
    }
    bytes_ += size;
    const char* from = static_cast<const char*>(piece);
    while (size > 0) {
      const ssize_t wrote = ::pwrite(file, from, size, offset);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return std::unexpected(image_errno(errno, concat("a file in a layer (", shown(path.text()), ")")));
      from += wrote;
      offset += wrote;
      size -= static_cast<std::size_t>(wrote);
    }
  }
}

ImageResult<void> unpack_entries(archive* reader, Input& input, Unpacking& unpacking) {
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  while (true) {
    input.header_bytes = 0;
    const int result = archive_read_next_header2(reader, entry.get());
    if (result == ARCHIVE_EOF) return {};
    if (result == ARCHIVE_RETRY) continue;
    if (result == ARCHIVE_FATAL || result == ARCHIVE_FAILED) {
      const char* why = archive_error_string(reader);
      return damaged(why == nullptr ? "it is not a tar archive" : why);
    }
    // A warning is about a name that is no UTF-8, which comes as it is, or an attribute that is not understood.
    if (auto done = unpacking.entry(reader, entry.get()); !done) return pass(done);
    if (auto skipped = unpacking.skip_data(reader); !skipped) return pass(skipped);
  }
}

/// What follows the tar's end is hashed, too.
ImageResult<void> drain(Input& input) {
  while (true) {
    if (input.stop.stop_requested()) return image_fail(ImageFault::cancelled, "the fetch was cancelled");
    auto piece = input.stream.next();
    if (!piece) return pass(piece);
    if (piece->empty()) return {};
  }
}

}  // namespace

ImageResult<LayerContent> unpack_layer(Descriptor blob, Descriptor root, Descriptor trash, OverlayMarks marks,
                                       const LayerDemand& demand, const std::function<void(std::uint64_t)>& read,
                                       const std::stop_token& stop) {
  const Utf8Thread utf8;
  Input input{BlobStream(std::move(blob), demand.limits, demand.bytes_left, read), stop, {}};
  const std::unique_ptr<archive, FreeArchive> reader(archive_read_new());
  DROVER_CHECK(reader != nullptr, "libarchive begins");
  archive_read_support_format_tar(reader.get());
  archive_read_support_format_empty(reader.get());
  LayerTree tree(std::move(root), std::move(trash), marks, demand.limits, demand.entries_left);
  Unpacking unpacking(input, tree, demand);
  auto done = [&]() -> ImageResult<void> {
    if (archive_read_open(reader.get(), &input, nullptr, read_piece, nullptr) != ARCHIVE_OK)
      return damaged("it is not a tar archive");
    return unpack_entries(reader.get(), input, unpacking);
  }();
  if (input.error) done = std::unexpected(std::move(*input.error));
  if (done) done = drain(input);
  if (!done && done.error().fault != ImageFault::corrupt) return pass(done);
  // A blob that is not the one that was asked for explains whatever else went wrong with it.
  if (!done) input.stream.skip_rest();
  if (const std::string is = input.stream.blob_digest(); is != demand.digest) {
    return image_fail(ImageFault::bad_digest,
                      concat("a layer does not match its digest: expected ", demand.digest, ", received ", is),
                      "retry; if it fails again, push the image again");
  }
  if (!done) return pass(done);
  if (const std::string is = input.stream.content_digest(); is != demand.diff_id) {
    return image_fail(ImageFault::bad_digest,
                      concat("a layer unpacks to ", is, ", but the configuration says ", demand.diff_id),
                      "build or push the image again");
  }
  if (auto sealed = tree.seal(); !sealed) return pass(sealed);
  return LayerContent{unpacking.bytes(), tree.entries(), tree.hides_everything(), tree.notes()};
}

}  // namespace drover
