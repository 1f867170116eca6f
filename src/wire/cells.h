// How fields of records become cells of a table, and back. Both stores speak cells, so a record that survives one
// survives the other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "core/event.h"
#include "core/fleets/fleet_records.h"
#include "core/queue.h"
#include "core/records.h"
#include "core/registry.h"

namespace drover {

/// Nothing, a number, text, or bytes.
using Cell = std::variant<std::monostate, std::int64_t, std::string, Bytes>;

Cell to_cell(const std::string& text);  // empty is nothing
Cell to_cell(const Uuid& uuid);
Cell to_cell(const Bytes& bytes);  // likewise
Cell to_cell(JobState state);
Cell to_cell(StopCause cause);
Cell to_cell(WorkerState state);
Cell to_cell(SpotUse use);
Cell to_cell(MachineState state);
Cell to_cell(const std::vector<ExitRule>& rules);
Cell to_cell(const Labels& labels);
Cell to_cell(const std::vector<Dependency>& after);
Cell to_cell(const std::vector<ShareWeight>& weights);
Cell to_cell(const std::vector<std::string>& names);
Cell to_cell(const std::shared_ptr<const ReopenChoice>& choice);  // null is nothing
Cell to_cell(QueueOrder order);
Cell to_cell(EventKind kind);
inline Cell to_cell(AttemptState state) {
  return static_cast<std::int64_t>(state);
}
inline Cell to_cell(Ending ending) {
  return static_cast<std::int64_t>(ending);
}
inline Cell to_cell(ItemIndex item) {
  return static_cast<std::int64_t>(item.value);
}
template <class Tag, class Rep>
Cell to_cell(Id<Tag, Rep> id) {
  return static_cast<std::int64_t>(id.value);
}
template <std::integral T>
Cell to_cell(T number) {
  return static_cast<std::int64_t>(number);
}
template <class T>
Cell to_cell(const std::optional<T>& value) {
  return value ? to_cell(*value) : Cell{};
}

// False when the cell cannot be such a field.
bool from_cell(const Cell& cell, std::string& out);
bool from_cell(const Cell& cell, Uuid& out);
bool from_cell(const Cell& cell, Bytes& out);
bool from_cell(const Cell& cell, JobState& out);
bool from_cell(const Cell& cell, StopCause& out);
bool from_cell(const Cell& cell, WorkerState& out);
bool from_cell(const Cell& cell, SpotUse& out);
bool from_cell(const Cell& cell, MachineState& out);
bool from_cell(const Cell& cell, std::vector<ExitRule>& out);
bool from_cell(const Cell& cell, Labels& out);
bool from_cell(const Cell& cell, std::vector<Dependency>& out);
bool from_cell(const Cell& cell, std::vector<ShareWeight>& out);
bool from_cell(const Cell& cell, std::vector<std::string>& out);
bool from_cell(const Cell& cell, std::shared_ptr<const ReopenChoice>& out);
bool from_cell(const Cell& cell, QueueOrder& out);
bool from_cell(const Cell& cell, EventKind& out);
bool from_cell(const Cell& cell, AttemptState& out);
bool from_cell(const Cell& cell, Ending& out);
bool from_cell(const Cell& cell, ItemIndex& out);
template <std::integral T>
bool from_cell(const Cell& cell, T& out) {
  const auto* number = std::get_if<std::int64_t>(&cell);
  if (number != nullptr) out = static_cast<T>(*number);
  return number != nullptr;
}
template <class Tag, class Rep>
bool from_cell(const Cell& cell, Id<Tag, Rep>& out) {
  return from_cell(cell, out.value);
}
template <class T>
bool from_cell(const Cell& cell, std::optional<T>& out) {
  if (std::holds_alternative<std::monostate>(cell)) {
    out.reset();
    return true;
  }
  return from_cell(cell, out.emplace());
}

template <class Record>
std::vector<Cell> to_cells(const Record& record) {
  std::vector<Cell> cells;
  Record::fields(record, [&](const char*, const auto& field) { cells.push_back(to_cell(field)); });
  return cells;
}

/// `cell_at(i)` gives the i-th cell in the order of Record::fields.
template <class Record, class CellAt>
Result<Record> from_cells(CellAt&& cell_at) {
  Record record;
  std::string wrong;
  int column = 0;
  Record::fields(record, [&](const char* name, auto& field) {
    if (!from_cell(cell_at(column++), field) && wrong.empty()) wrong = name;
  });
  if (!wrong.empty()) return fail(ErrorCode::damaged, concat("a stored row has an invalid '", wrong, "'"));
  return record;
}

template <class Record>
std::vector<std::string> column_names() {
  std::vector<std::string> names;
  const Record record;
  Record::fields(record, [&](const char* name, const auto&) { names.emplace_back(name); });
  return names;
}

}  // namespace drover
