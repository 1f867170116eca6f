#include "store/sealed_archive.h"

#include <archive_entry.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/check.h"
#include "base/text.h"

namespace drover {
namespace {

constexpr const char* kSums = "SHA256SUMS";
constexpr std::uint64_t kMostSums = std::uint64_t{64} << 20;
/// A list of sums that has become so long is written.
constexpr std::size_t kLongSums = std::size_t{64} << 10;
constexpr std::size_t kPiece = std::size_t{256} << 10;

struct CloseReader {
  void operator()(archive* it) const { archive_read_free(it); }
};
struct FreeEntry {
  void operator()(archive_entry* it) const { archive_entry_free(it); }
};
struct FreeDigest {
  void operator()(EVP_MD_CTX* it) const { EVP_MD_CTX_free(it); }
};
using Reader = std::unique_ptr<archive, CloseReader>;

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new()) {
    DROVER_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "SHA-256 is always there");
  }
  void add(std::string_view bytes) {
    DROVER_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "hashing cannot fail");
  }
  /// As sixty-four digits; once.
  std::string digits() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    DROVER_CHECK(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1, "hashing cannot fail");
    std::string out;
    for (unsigned i = 0; i < size; ++i) {
      out += "0123456789abcdef"[bytes[i] >> 4];
      out += "0123456789abcdef"[bytes[i] & 15];
    }
    return out;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeDigest> context_;
};

class File {
 public:
  File(const std::string& path, int flags) : number_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}
  ~File() {
    if (number_ >= 0) ::close(number_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

Error trouble(archive* it, const std::string& path) {
  const int number = archive_errno(it);
  if (number == ENOSPC) return errno_error(ENOSPC, path, "free some space, or write it elsewhere");
  const char* text = archive_error_string(it);
  return {ErrorCode::io, concat(path, ": ", text == nullptr ? "cannot be written or read" : text), {}};
}

std::unexpected<Error> damaged(const std::string& file, std::string_view how) {
  return fail(ErrorCode::damaged, concat(file, " is damaged: ", how), "use another backup");
}

/// The rest of a member, piece by piece.
Result<void> each_piece(archive* in, const std::string& file,
                        const std::function<Result<void>(std::string_view)>& take) {
  std::vector<char> piece(kPiece);
  while (true) {
    const la_ssize_t got = archive_read_data(in, piece.data(), piece.size());
    if (got == ARCHIVE_RETRY) continue;
    if (got < 0) return damaged(file, trouble(in, "inside").message);
    if (got == 0) return {};
    if (auto taken = take({piece.data(), static_cast<std::size_t>(got)}); !taken) return taken;
  }
}

struct Taken {
  std::uint64_t bytes = 0;
  std::string sum;
};

Result<Taken> take_file(archive* in, const std::string& file, const std::string& path) {
  const File out(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!out) return std::unexpected(errno_error(errno, path));
  Taken taken;
  Sha256 sum;
  auto done = each_piece(in, file, [&](std::string_view bytes) -> Result<void> {
    sum.add(bytes);
    taken.bytes += bytes.size();
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(out.get(), bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return std::unexpected(errno_error(errno, path));
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
  });
  if (!done) return pass(done);
  if (::fsync(out.get()) != 0) return std::unexpected(errno_error(errno, path));
  taken.sum = sum.digits();
  return taken;
}

Result<std::string> take_sums(archive* in, const std::string& file) {
  std::string sums;
  auto done = each_piece(in, file, [&](std::string_view bytes) -> Result<void> {
    sums += bytes;
    if (sums.size() > kMostSums) return damaged(file, concat(kSums, " is too long"));
    return {};
  });
  if (!done) return pass(done);
  return sums;
}

std::string sum_of(std::string_view text) {
  Sha256 sum;
  sum.add(text);
  return sum.digits();
}

std::string name_of_list(std::uint64_t number) {
  return concat(kSums, ".", number);
}

std::string line_of(std::string_view sum, std::string_view name) {
  return concat(sum, "  ", name, "\n");
}

}  // namespace

Result<void> sync_path(const std::string& path) {
  const File it(path, O_RDONLY);
  if (!it || ::fsync(it.get()) != 0) return std::unexpected(errno_error(errno, path));
  return {};
}

Result<SealedArchiveWriter> SealedArchiveWriter::create(const std::string& path) {
  if (const File made(path, O_WRONLY | O_CREAT | O_EXCL); !made) return std::unexpected(errno_error(errno, path));
  SealedArchiveWriter writer(path);
  archive_write_add_filter_zstd(writer.out_.get());
  archive_write_set_filter_option(writer.out_.get(), "zstd", "compression-level", "1");
  archive_write_set_format_pax_restricted(writer.out_.get());
  if (archive_write_open_filename(writer.out_.get(), path.c_str()) != ARCHIVE_OK) {
    return std::unexpected(trouble(writer.out_.get(), path));
  }
  return writer;
}

Result<void> SealedArchiveWriter::begin_member(const std::string& name, std::int64_t size, std::int64_t modified_s) {
  const std::unique_ptr<archive_entry, FreeEntry> entry(archive_entry_new());
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), 0600);
  archive_entry_set_size(entry.get(), size);
  archive_entry_set_mtime(entry.get(), modified_s, 0);
  if (archive_write_header(out_.get(), entry.get()) != ARCHIVE_OK) return std::unexpected(trouble(out_.get(), path_));
  return {};
}

Result<void> SealedArchiveWriter::write(std::string_view bytes) {
  if (archive_write_data(out_.get(), bytes.data(), bytes.size()) < 0) {
    return std::unexpected(trouble(out_.get(), path_));
  }
  return {};
}

Result<std::uint64_t> SealedArchiveWriter::add(const std::string& path, const std::string& name) {
  const File in(path, O_RDONLY);
  struct stat about{};
  if (!in || ::fstat(in.get(), &about) != 0) return std::unexpected(errno_error(errno, path));
  if (auto begun = begin_member(name, about.st_size, about.st_mtime); !begun) return pass(begun);
  Sha256 sum;
  std::vector<char> piece(kPiece);
  for (std::int64_t left = about.st_size; left > 0;) {
    const ssize_t got = ::read(in.get(), piece.data(), static_cast<std::size_t>(std::min<std::int64_t>(left, kPiece)));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::unexpected(errno_error(got < 0 ? errno : EIO, path));
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    sum.add(bytes);
    if (auto written = write(bytes); !written) return pass(written);
    left -= got;
  }
  sums_ += line_of(sum.digits(), name);
  if (sums_.size() >= kLongSums) {
    const std::string list = name_of_list(++lists_);
    if (auto written = write_sums(list); !written) return pass(written);
    sums_ = line_of(sum_of(sums_), list);
  }
  return static_cast<std::uint64_t>(about.st_size);
}

Result<void> SealedArchiveWriter::write_sums(const std::string& name) {
  if (auto begun = begin_member(name, static_cast<std::int64_t>(sums_.size()), 0); !begun) return begun;
  return write(sums_);
}

Result<void> SealedArchiveWriter::seal() {
  if (auto written = write_sums(kSums); !written) return written;
  if (archive_write_close(out_.get()) != ARCHIVE_OK) return std::unexpected(trouble(out_.get(), path_));
  return sync_path(path_);
}

Result<void> unseal(const std::string& file, const std::string& folder, const ArchiveTaker& taker) {
  const Reader in(archive_read_new());
  archive_read_support_filter_zstd(in.get());
  archive_read_support_format_tar(in.get());
  const Error no_backup{ErrorCode::bad_input, concat(file, " is not a Drover backup"),
                        "use a file that 'drover backup' wrote"};
  if (::access(file.c_str(), R_OK) != 0) return std::unexpected(errno_error(errno, file, no_backup.next));
  if (archive_read_open_filename(in.get(), file.c_str(), kPiece) != ARCHIVE_OK) return std::unexpected(no_backup);
  std::string found;  // what the next list must say
  std::uint64_t lists = 0;
  const auto check_sums = [&]() -> Result<void> {
    auto sums = take_sums(in.get(), file);
    if (!sums) return pass(sums);
    if (*sums != found) return damaged(file, concat("its contents do not match its ", kSums));
    return {};
  };
  while (true) {
    archive_entry* entry = nullptr;
    const int got = archive_read_next_header(in.get(), &entry);
    if (got == ARCHIVE_EOF) return damaged(file, concat("it ends before its ", kSums));
    if (got != ARCHIVE_OK) {
      if (found.empty()) return std::unexpected(no_backup);
      return damaged(file, trouble(in.get(), "inside").message);
    }
    const char* text = archive_entry_pathname(entry);
    const std::string name = text == nullptr ? "" : text;
    if (name == kSums) return check_sums();
    if (name == name_of_list(lists + 1)) {
      if (auto checked = check_sums(); !checked) return checked;
      ++lists;
      found = line_of(sum_of(found), name);
      continue;
    }
    if (!taker.is_wanted(name)) return std::unexpected(no_backup);
    if (auto made = taker.make_folder(name); !made) return made;
    auto taken = take_file(in.get(), file, concat(folder, "/", name));
    if (!taken) return pass(taken);
    found += line_of(taken->sum, name);
    taker.taken({name, taken->bytes});
  }
}

}  // namespace drover
