// Rows in memory, each encoded as a real store would encode it, in the order of their keys.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ports/store.h"
#include "wire/cells.h"

namespace drover {

/// Numbers as bytes that sort as the numbers do.
void append_number(std::string& out, std::uint64_t number);

template <class... Numbers>
std::string row_key(Numbers... numbers) {
  std::string out;
  (append_number(out, numbers), ...);
  return out;
}

std::string key_of(const Counters& it);
std::string key_of(const Job& it);
std::string key_of(const BlockRecord& it);
std::string key_of(const OpenItem& it);
std::string key_of(const Grant& it);
std::string key_of(const Worker& it);
std::string key_of(const FormerWorker& it);
std::string key_of(const Queue& it);
std::string key_of(const ShareRecord& it);
std::string key_of(const NamedDefinition& it);
std::string key_of(const Fleet& it);
std::string key_of(const Machine& it);
std::string key_of(const Document& it);
std::string key_of(const Account& it);
std::string key_of(const Event& it);
std::string key_of(const Stream& it);
std::string key_of(const MessageBlock& it);
std::string key_of(const OpenMessage& it);
std::string key_of(const SentBefore& it);
std::string key_of(const DeadLetter& it);
std::string key_of(const Attempt& it);

class MemoryRows {
 public:
  using Table = std::map<std::string, std::string>;  // encoded key → encoded record

  template <class Record>
  Table& of() {
    std::string name;
    for (const std::string& column : column_names<Record>()) name += column + ",";
    return tables_[name];
  }

  template <class Record>
  void put(const Record& record) {
    of<Record>()[key_of(record)] = encode(to_cells(record));
  }

  template <class Record>
  static Result<Record> read(std::string_view row) {
    const std::vector<Cell> cells = decode(row);
    return from_cells<Record>([&](int column) { return cells.at(static_cast<std::size_t>(column)); });
  }

  /// Those whose key begins with the prefix, from that key on, until one was enough.
  template <class Record, class Take>
  Result<void> each(const std::string& prefix, const std::string& from, Take&& take) {
    Table& table = of<Record>();
    for (auto it = table.lower_bound(from); it != table.end() && it->first.starts_with(prefix); ++it) {
      auto record = read<Record>(it->second);
      if (!record) return pass(record);
      auto went_on = take(std::move(*record));
      if (!went_on) return pass(went_on);
      if (!*went_on) break;
    }
    return {};
  }

  template <class Record>
  Result<std::vector<Record>> all() {
    std::vector<Record> records;
    auto done = each<Record>({}, {}, [&](Record record) -> Result<bool> {
      records.push_back(std::move(record));
      return true;
    });
    if (!done) return pass(done);
    return records;
  }

 private:
  static std::string encode(const std::vector<Cell>& cells);
  static std::vector<Cell> decode(std::string_view row);

  std::map<std::string, Table> tables_;
};

}  // namespace drover
