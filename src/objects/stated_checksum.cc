#include "objects/stated_checksum.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr std::array<std::pair<std::string_view, ChecksumKind>, 6> kChecksumNames{
    {{"crc32", ChecksumKind::crc32},
     {"crc32c", ChecksumKind::crc32c},
     {"crc64nvme", ChecksumKind::crc64nvme},
     {"md5", ChecksumKind::md5},
     {"sha1", ChecksumKind::sha1},
     {"sha256", ChecksumKind::sha256}}};

}  // namespace

std::string_view checksum_name(ChecksumKind kind) {
  return std::ranges::find(kChecksumNames, kind, [](const auto& it) { return it.second; })->first;
}

std::string stated_checksum(ChecksumKind kind, std::string_view sum) {
  return concat(checksum_name(kind), ":", hex(sum));
}

std::optional<std::pair<ChecksumKind, std::string>> read_stated_checksum(std::string_view text) {
  const std::string_view name = take_until(text, ':');
  const auto* kind = std::ranges::find(kChecksumNames, name, [](const auto& it) { return it.first; });
  if (kind == kChecksumNames.end() || text.empty() || text.size() % 2 != 0) return std::nullopt;
  std::string sum;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    if (hex_value(text[i]) < 0 || hex_value(text[i + 1]) < 0) return std::nullopt;
    sum += static_cast<char>(hex_value(text[i]) << 4 | hex_value(text[i + 1]));
  }
  return std::pair(kind->second, std::move(sum));
}

ChecksumCheck::ChecksumCheck(std::string_view stated) {
  auto read = read_stated_checksum(stated);
  if (!read) return;
  kind_ = read->first;
  expected_ = std::move(read->second);
  sums_.emplace(std::vector{kind_});
}

void ChecksumCheck::add(std::string_view bytes) {
  if (sums_) sums_->add(bytes);
}

bool ChecksumCheck::finish() {
  if (!sums_) return true;
  const std::string sum = sums_->finish().at(kind_);
  return sum.empty() || sum == expected_;  // empty: this machine may not compute it
}

}  // namespace drover
