#include "run/docker/pause_archive.h"

#include <archive.h>
#include <archive_entry.h>

#include <span>

#include "base/check.h"

extern "C" {
extern const char drover_pause_program[];
extern const char drover_pause_program_end[];
}

namespace drover {
namespace {

constexpr std::size_t kOverhead = std::size_t{64} << 10;

std::string make_archive() {
  const std::span<const char> program(drover_pause_program, drover_pause_program_end);
  std::string bytes(program.size() + kOverhead, '\0');
  std::size_t used = 0;
  archive* tar = ::archive_write_new();
  ::archive_write_set_format_ustar(tar);
  ::archive_write_open_memory(tar, bytes.data(), bytes.size(), &used);
  archive_entry* entry = ::archive_entry_new();
  ::archive_entry_set_pathname(entry, kPauseName);
  ::archive_entry_set_filetype(entry, AE_IFREG);
  ::archive_entry_set_perm(entry, 0555);
  ::archive_entry_set_size(entry, static_cast<la_int64_t>(program.size()));
  const bool is_written = ::archive_write_header(tar, entry) == ARCHIVE_OK &&
                          ::archive_write_data(tar, program.data(), program.size()) >= 0 &&
                          ::archive_write_close(tar) == ARCHIVE_OK;
  DROVER_CHECK(is_written, "a small archive fits its memory");
  ::archive_entry_free(entry);
  ::archive_write_free(tar);
  bytes.resize(used);
  return bytes;
}

}  // namespace

const std::string& pause_archive() {
  static const std::string archive = make_archive();
  return archive;
}

}  // namespace drover
