#include "api/sqs/receipt_handle.h"

#include "base/hash.h"
#include "wire/base64.h"

namespace drover::aws {
namespace {

constexpr std::size_t kNumbers = 4;
constexpr std::size_t kBytes = kNumbers * sizeof(std::uint64_t);

std::uint64_t checksum(const Receipt& receipt) {
  Hasher hasher;
  hasher.add(receipt.stream.value);
  hasher.add(receipt.message.value);
  hasher.add(receipt.receive);
  return hasher.value();
}

void append_number(std::string& out, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift & 0xFFU);
}

std::uint64_t number_at(std::string_view bytes, std::size_t place) {
  std::uint64_t out = 0;
  for (const char c : bytes.substr(place * sizeof out, sizeof out)) out = out << 8U | static_cast<unsigned char>(c);
  return out;
}

}  // namespace

std::string receipt_handle(const Receipt& receipt) {
  std::string bytes;
  bytes.reserve(kBytes);
  for (const std::uint64_t number : {receipt.stream.value, receipt.message.value, receipt.receive, checksum(receipt)}) {
    append_number(bytes, number);
  }
  return base64(bytes);
}

std::optional<Receipt> parse_receipt_handle(std::string_view text) {
  const auto bytes = from_base64(text);
  if (!bytes || bytes->size() != kBytes) return std::nullopt;
  const Receipt out{StreamId{number_at(*bytes, 0)}, MessageNumber{number_at(*bytes, 1)}, number_at(*bytes, 2)};
  // Base64 has several spellings of the same bytes; a receipt has one.
  return receipt_handle(out) == text ? std::optional(out) : std::nullopt;
}

}  // namespace drover::aws
