#include "wire/message_content.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "message.pb.h"

namespace drover {
namespace {

void write(const MessageAttribute& from, message::Attribute& to) {
  to.set_name(from.name);
  to.set_type(from.type);
  to.set_value(from.value);
}

MessageAttribute read(const message::Attribute& from) {
  return {from.name(), from.type(), from.value()};
}

bool is_allowed(char32_t c) {
  return c == 0x9 || c == 0xA || c == 0xD || (c >= 0x20 && c <= 0xD7FF) || (c >= 0xE000 && c <= 0xFFFD) ||
         (c >= 0x10000 && c <= 0x10FFFF);
}

/// Whether eight bytes from there on are all ASCII and no control characters.
bool are_plain(const char* bytes) {
  constexpr std::uint64_t kEach = 0x0101010101010101;
  std::uint64_t eight = 0;
  std::memcpy(&eight, bytes, sizeof eight);
  // A byte below 0x20 borrows into its highest bit.
  return ((eight | (eight - 0x20 * kEach)) & 0x80 * kEach) == 0;
}

}  // namespace

bool is_plain_text(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    while (text.size() - at >= sizeof(std::uint64_t) && are_plain(text.data() + at)) at += sizeof(std::uint64_t);
    if (at == text.size()) return true;
    const Utf8Char it = utf8_char(text, at);
    if (!it.valid || !is_allowed(it.point)) return false;
    at += it.length;
  }
  return true;
}

std::string encode_message(const MessageContent& content) {
  message::Content out;
  out.set_id(content.id.bytes.data(), content.id.bytes.size());
  out.set_sender(content.sender);
  out.set_sent_ms(content.sent_ms);
  out.set_body(content.body);
  for (const MessageAttribute& it : content.attributes) write(it, *out.add_attributes());
  for (const MessageAttribute& it : content.system_attributes) write(it, *out.add_system_attributes());
  out.set_group(content.group);
  out.set_deduplication(content.deduplication);
  out.set_body_md5(content.body_md5);
  return out.SerializeAsString();
}

Result<MessageContent> decode_message(std::string_view bytes) {
  message::Content in;
  MessageContent out;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || in.id().size() != out.id.bytes.size()) {
    return fail(ErrorCode::damaged, "a stored message cannot be read");
  }
  std::ranges::copy(in.id(), out.id.bytes.begin());
  out.sender = in.sender();
  out.sent_ms = in.sent_ms();
  out.body = std::move(*in.mutable_body());
  for (const auto& it : in.attributes()) out.attributes.push_back(read(it));
  for (const auto& it : in.system_attributes()) out.system_attributes.push_back(read(it));
  out.group = in.group();
  out.deduplication = in.deduplication();
  out.body_md5 = in.body_md5();
  return out;
}

}  // namespace drover
