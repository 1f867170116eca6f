// The checksum that a store states of an object, as ObjectInfo has it: "sha256:HEX".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "wire/checksums.h"

namespace drover {

std::string_view checksum_name(ChecksumKind kind);
/// `sum` as bytes.
std::string stated_checksum(ChecksumKind kind, std::string_view sum);
/// The kind, and the sum as bytes. Nothing: it is empty, or not one of those that Drover computes.
std::optional<std::pair<ChecksumKind, std::string>> read_stated_checksum(std::string_view text);

/// Compares bytes that pass by with what the store states of the object.
class ChecksumCheck {
 public:
  explicit ChecksumCheck(std::string_view stated);
  void add(std::string_view bytes);
  /// False: they differ. True where there is nothing to compare with.
  bool finish();

 private:
  std::string expected_;  // as bytes; empty: none
  ChecksumKind kind_ = ChecksumKind::md5;
  std::optional<Checksums> sums_;
};

}  // namespace drover
