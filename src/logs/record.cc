#include "logs/record.h"

namespace drover {

void append_varint(std::string& out, std::uint64_t number) {
  while (number >= 0x80) {
    out += static_cast<char>(number | 0x80);
    number >>= 7;
  }
  out += static_cast<char>(number);
}

std::optional<std::uint64_t> take_varint(std::string_view& in) {
  std::uint64_t number = 0;
  for (unsigned shift = 0; shift < 64 && !in.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(in.front());
    in.remove_prefix(1);
    number |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return number;
  }
  return std::nullopt;
}

void append_record(std::string& out, const LogRecord& record) {
  append_varint(out, static_cast<std::uint64_t>(record.stream));
  append_varint(out, record.key.job.value);
  append_varint(out, record.key.item.value);
  append_varint(out, record.key.attempt.value);
  append_varint(out, static_cast<std::uint64_t>(record.time_ms));
  append_varint(out, record.bytes.size());
  out += record.bytes;
}

std::optional<LogRecord> RecordCursor::next() {
  std::string_view in = rest_;
  const auto stream = take_varint(in);
  const auto job = take_varint(in);
  const auto item = take_varint(in);
  const auto attempt = take_varint(in);
  const auto time_ms = take_varint(in);
  const auto size = take_varint(in);
  if (!stream || !job || !item || !attempt || !time_ms || !size || *size > in.size() ||
      *stream > static_cast<std::uint64_t>(LogStream::note))
    return std::nullopt;
  rest_ = in.substr(*size);
  return LogRecord{{JobId{*job}, ItemIndex{*item}, AttemptNumber{static_cast<std::uint32_t>(*attempt)}},
                   static_cast<LogStream>(*stream),
                   static_cast<std::int64_t>(*time_ms),
                   in.substr(0, *size)};
}

}  // namespace drover
