// Checksums of bytes that pass by, as object stores name them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace drover {

enum class ChecksumKind : std::uint8_t { crc32, crc32c, crc64nvme, md5, sha1, sha256 };

/// Several of the same bytes at once.
class Checksums {
 public:
  explicit Checksums(const std::vector<ChecksumKind>& kinds);
  ~Checksums();
  Checksums(Checksums&&) noexcept;
  Checksums& operator=(Checksums&&) noexcept;

  void add(std::string_view bytes);
  /// Of all that was added, as bytes, the highest first; empty where this machine's OpenSSL may not compute it, such as
  /// MD5 under FIPS. Nothing is added after this.
  std::map<ChecksumKind, std::string> finish();

 private:
  class Sum;
  class Crc;
  class Digest;
  std::map<ChecksumKind, std::unique_ptr<Sum>> sums_;
};

/// The CRC of two runs of bytes, one behind the other, from the CRC of each, as bytes: the second run has this size.
std::string combined_crc(ChecksumKind kind, std::string_view first, std::string_view second, std::uint64_t second_size);

}  // namespace drover
