#include "api/sqs/message_md5.h"

#include "wire/digest.h"

namespace drover::aws {
namespace {

constexpr char kText = 1;
constexpr char kBinary = 2;

void append_sized(std::string& out, std::string_view part) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(part.size() >> shift & 0xFFU);
  out += part;
}

}  // namespace

std::string md5_hex(std::string_view bytes) {
  return hex(md5(bytes));
}

std::string md5_of_attributes(const std::vector<MessageAttribute>& attributes) {
  if (attributes.empty()) return {};
  std::string all;
  for (const MessageAttribute& it : attributes) {
    append_sized(all, it.name);
    append_sized(all, it.type);
    all += it.type.starts_with("Binary") ? kBinary : kText;
    append_sized(all, it.value);
  }
  return md5_hex(all);
}

}  // namespace drover::aws
