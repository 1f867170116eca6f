#include "store/memory_rows.h"

namespace drover {
namespace {

std::uint64_t take_number(std::string_view& in) {
  std::uint64_t number = 0;
  for (int i = 0; i < 8; ++i) number = number << 8 | static_cast<unsigned char>(in[static_cast<std::size_t>(i)]);
  in.remove_prefix(8);
  return number;
}

}  // namespace

void append_number(std::string& out, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(number >> shift);
}

// A cell is a tag, then a number or a length with bytes.
std::string MemoryRows::encode(const std::vector<Cell>& cells) {
  std::string out;
  for (const Cell& cell : cells) {
    out += static_cast<char>(cell.index());
    if (const auto* number = std::get_if<std::int64_t>(&cell)) append_number(out, static_cast<std::uint64_t>(*number));
    if (const auto* text = std::get_if<std::string>(&cell)) {
      append_number(out, text->size());
      out += *text;
    }
    if (const auto* bytes = std::get_if<Bytes>(&cell)) {
      append_number(out, bytes->value.size());
      out += bytes->value;
    }
  }
  return out;
}

std::vector<Cell> MemoryRows::decode(std::string_view in) {
  std::vector<Cell> cells;
  while (!in.empty()) {
    const char tag = in.front();
    in.remove_prefix(1);
    if (tag == 0) {
      cells.emplace_back();
      continue;
    }
    const std::uint64_t number = take_number(in);
    if (tag == 1) {
      cells.emplace_back(static_cast<std::int64_t>(number));
      continue;
    }
    std::string content(in.substr(0, number));
    in.remove_prefix(number);
    if (tag == 2) {
      cells.emplace_back(std::move(content));
    } else {
      cells.emplace_back(Bytes{std::move(content)});
    }
  }
  return cells;
}

std::string key_of(const Counters& /*one row*/) {
  return {};
}
std::string key_of(const Job& it) {
  return row_key(it.id.value);
}
std::string key_of(const BlockRecord& it) {
  return row_key(it.job.value, it.block);
}
std::string key_of(const OpenItem& it) {
  return row_key(it.job.value, it.item.value);
}
std::string key_of(const Grant& it) {
  return row_key(it.id.value);
}
std::string key_of(const Worker& it) {
  return row_key(it.id.value);
}
std::string key_of(const FormerWorker& it) {
  return row_key(it.id.value);
}
// Names are not as long as each other: the first is ended by what no name holds.
std::string key_of(const Queue& it) {
  return it.name;
}
std::string key_of(const ShareRecord& it) {
  return it.queue + '\0' + it.share;
}
std::string key_of(const NamedDefinition& it) {
  return it.name + '\0' + row_key(it.revision);
}
std::string key_of(const Fleet& it) {
  return it.name;
}
std::string key_of(const Machine& it) {
  return it.name;
}
std::string key_of(const Document& it) {
  return it.kind + '\0' + it.name;
}
std::string key_of(const Account& it) {
  return it.owner;
}
std::string key_of(const Event& it) {
  return row_key(it.id.value);
}
std::string key_of(const Stream& it) {
  return row_key(it.id.value);
}
std::string key_of(const MessageBlock& it) {
  return row_key(it.first.value);
}
std::string key_of(const OpenMessage& it) {
  return row_key(it.message.value);
}
std::string key_of(const SentBefore& it) {
  return row_key(it.stream.value) + it.key;
}
std::string key_of(const DeadLetter& it) {
  return row_key(it.message.value);
}
std::string key_of(const Attempt& it) {
  return row_key(it.job.value, it.item.value, std::uint64_t{it.attempt.value});
}

}  // namespace drover
