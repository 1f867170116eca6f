#include "wire/cells.h"

#include "wire/labels.h"
#include "wire/place_lists.h"
#include "wire/reopen_json.h"
#include "wire/rules.h"

namespace drover {
namespace {

// The enumerators of E are 0 … Last; the one whose name this is.
template <class E, E Last>
bool from_name(const Cell& cell, E& out) {
  const auto* name = std::get_if<std::string>(&cell);
  if (name == nullptr) return false;
  for (int value = 0; value <= static_cast<int>(Last); ++value) {
    if (to_string(static_cast<E>(value)) != *name) continue;
    out = static_cast<E>(value);
    return true;
  }
  return false;
}

template <class E, E First, E Last>
bool from_number(const Cell& cell, E& out) {
  const auto* number = std::get_if<std::int64_t>(&cell);
  if (number == nullptr || *number < static_cast<std::int64_t>(First) || *number > static_cast<std::int64_t>(Last)) {
    return false;
  }
  out = static_cast<E>(*number);
  return true;
}

/// Of a list in JSON; nothing is an empty one.
template <class T, class Parse>
bool from_list(const Cell& cell, std::vector<T>& out, Parse&& parse) {
  std::string json;
  if (!from_cell(cell, json)) return false;
  out.clear();
  if (json.empty()) return true;
  auto list = parse(json);
  if (list) out = std::move(*list);
  return static_cast<bool>(list);
}

}  // namespace

Cell to_cell(const std::string& text) {
  return text.empty() ? Cell{} : Cell{text};
}
Cell to_cell(const Uuid& uuid) {
  return uuid.text();
}
Cell to_cell(const Bytes& bytes) {
  return bytes.value.empty() ? Cell{} : Cell{bytes};
}
Cell to_cell(JobState state) {
  return std::string(to_string(state));
}
Cell to_cell(StopCause cause) {
  return std::string(to_string(cause));
}
Cell to_cell(SpotUse use) {
  return std::string(to_string(use));
}
Cell to_cell(MachineState state) {
  return std::string(to_string(state));
}
Cell to_cell(WorkerState state) {
  return std::string(to_string(state));
}
Cell to_cell(const std::vector<ExitRule>& rules) {
  return rules.empty() ? Cell{} : Cell{rules_to_json(rules)};
}
Cell to_cell(const Labels& labels) {
  return labels.empty() ? Cell{} : Cell{labels_to_json(labels)};
}
Cell to_cell(const std::vector<Dependency>& after) {
  return after.empty() ? Cell{} : Cell{after_to_json(after)};
}
Cell to_cell(const std::vector<ShareWeight>& weights) {
  return weights.empty() ? Cell{} : Cell{weights_to_json(weights)};
}
Cell to_cell(const std::vector<std::string>& names) {
  return names.empty() ? Cell{} : Cell{names_to_json(names)};
}
Cell to_cell(const std::shared_ptr<const ReopenChoice>& choice) {
  return choice == nullptr ? Cell{} : Cell{reopen_to_json(*choice)};
}
Cell to_cell(QueueOrder order) {
  return std::string(to_string(order));
}
Cell to_cell(EventKind kind) {
  return std::string(to_string(kind));
}

bool from_cell(const Cell& cell, std::string& out) {
  if (std::holds_alternative<std::monostate>(cell)) {
    out.clear();
    return true;
  }
  const auto* text = std::get_if<std::string>(&cell);
  if (text != nullptr) out = *text;
  return text != nullptr;
}

bool from_cell(const Cell& cell, Uuid& out) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return false;
  const auto uuid = Uuid::parse(*text);
  if (uuid) out = *uuid;
  return uuid.has_value();
}

bool from_cell(const Cell& cell, Bytes& out) {
  if (std::holds_alternative<std::monostate>(cell)) {
    out = {};
    return true;
  }
  const auto* bytes = std::get_if<Bytes>(&cell);
  if (bytes != nullptr) out = *bytes;
  return bytes != nullptr;
}

bool from_cell(const Cell& cell, JobState& out) {
  return from_name<JobState, JobState::cancelled>(cell, out);
}

bool from_cell(const Cell& cell, StopCause& out) {
  return from_name<StopCause, StopCause::withdrawn>(cell, out);
}

bool from_cell(const Cell& cell, SpotUse& out) {
  return from_name<SpotUse, SpotUse::never>(cell, out);
}

bool from_cell(const Cell& cell, MachineState& out) {
  return from_name<MachineState, MachineState::gone>(cell, out);
}

bool from_cell(const Cell& cell, WorkerState& out) {
  return from_name<WorkerState, WorkerState::fenced>(cell, out);
}

bool from_cell(const Cell& cell, std::vector<ExitRule>& out) {
  return from_list(cell, out, rules_from_json);
}

bool from_cell(const Cell& cell, std::vector<Dependency>& out) {
  return from_list(cell, out, after_from_json);
}

bool from_cell(const Cell& cell, std::vector<ShareWeight>& out) {
  return from_list(cell, out, weights_from_json);
}

bool from_cell(const Cell& cell, std::vector<std::string>& out) {
  return from_list(cell, out, names_from_json);
}

bool from_cell(const Cell& cell, std::shared_ptr<const ReopenChoice>& out) {
  std::string json;
  if (!from_cell(cell, json)) return false;
  out.reset();
  if (json.empty()) return true;
  auto choice = reopen_from_json(json);
  if (choice) out = std::make_shared<const ReopenChoice>(std::move(*choice));
  return choice.has_value();
}

bool from_cell(const Cell& cell, QueueOrder& out) {
  return from_name<QueueOrder, QueueOrder::fair>(cell, out);
}

bool from_cell(const Cell& cell, EventKind& out) {
  return from_name<EventKind, kLastEventKind>(cell, out);
}

bool from_cell(const Cell& cell, Labels& out) {
  std::string json;
  if (!from_cell(cell, json)) return false;
  out.clear();
  if (json.empty()) return true;
  auto labels = labels_from_json(json);
  if (labels) out = std::move(*labels);
  return labels.has_value();
}

bool from_cell(const Cell& cell, AttemptState& out) {
  return from_number<AttemptState, AttemptState::succeeded, AttemptState::lost>(cell, out);
}

bool from_cell(const Cell& cell, Ending& out) {
  return from_number<Ending, Ending::exited, Ending::out_of_memory>(cell, out);
}

bool from_cell(const Cell& cell, ItemIndex& out) {
  return from_cell(cell, out.value);
}

}  // namespace drover
