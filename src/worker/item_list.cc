#include "worker/item_list.h"

#include <array>
#include <initializer_list>

#include "base/text.h"
#include "ports/item_marks.h"

namespace drover {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"pending",   "waiting", "running",
                                                    "succeeded", "failed",  "cancelled"};

// Reading past the attempts of so many items costs about as much as a new question to the ledger.
constexpr std::uint64_t kFarItems = 64;

/// What tells an item's state apart from its attempts.
class StateTeller {
 public:
  StateTeller(const Job& job, const std::set<ItemIndex>& running, ItemSpan among)
      : job_(job), running_(running), among_(among) {}

  Result<void> read(StoreReader& reader) {
    auto marks = read_span_marks(reader, job_.id, job_.total, among_, !job_.stream.empty());
    if (!marks) return pass(marks);
    blocks_ = std::move(*marks);
    return reader.each_open_item(job_.id, among_, [&](const OpenItem& item) {
      if (item.waiting()) waiting_.insert(item.item);
    });
  }

  ItemState state_of(const ListedItem& item) const {
    switch (blocks_.get(item.item)) {
      case ItemMark::succeeded: return ItemState::succeeded;
      case ItemMark::ended:
        return item.last && item.last->state == AttemptState::cancelled ? ItemState::cancelled : ItemState::failed;
      case ItemMark::pending:
      case ItemMark::open: break;
    }
    if (job_.ended()) return ItemState::cancelled;
    if (running_.contains(item.item)) return ItemState::running;
    return waiting_.contains(item.item) ? ItemState::waiting : ItemState::pending;
  }

  /// The first item at or after `from` that may be in this state, if one is named: the others are passed over, and may
  /// be millions.
  std::optional<ItemIndex> next(std::optional<ItemState> only, ItemIndex from) const {
    const auto found = first_at_or_after(only, from);
    return found && found->value < job_.total && *found <= among_.last ? found : std::nullopt;
  }

 private:
  std::optional<ItemIndex> first_at_or_after(std::optional<ItemState> only, ItemIndex from) const {
    if (!only || from.value >= job_.total) return from;
    switch (*only) {
      case ItemState::running: return first_in(running_, from);
      case ItemState::waiting: return first_in(waiting_, from);
      case ItemState::succeeded: return first_of({ItemMark::succeeded}, from);
      case ItemState::failed: return job_.failed == 0 ? std::nullopt : first_of({ItemMark::ended}, from);
      case ItemState::pending: return first_of({ItemMark::pending, ItemMark::open}, from);
      case ItemState::cancelled: break;
    }
    if (job_.ended()) return first_of({ItemMark::pending, ItemMark::open, ItemMark::ended}, from);
    return job_.cancelled == 0 ? std::nullopt : first_of({ItemMark::ended}, from);
  }

  static std::optional<ItemIndex> first_in(const std::set<ItemIndex>& items, ItemIndex from) {
    const auto it = items.lower_bound(from);
    return it == items.end() ? std::nullopt : std::optional(*it);
  }

  std::optional<ItemIndex> first_of(std::initializer_list<ItemMark> marks, ItemIndex from) const {
    std::optional<ItemIndex> first;
    for (const ItemMark mark : marks) {
      const auto found = blocks_.find(mark, from);
      if (found && (!first || *found < *first)) first = found;
    }
    return first;
  }

  const Job& job_;
  const std::set<ItemIndex>& running_;
  const ItemSpan among_;
  SpanMarks blocks_;
  std::set<ItemIndex> waiting_;
};

}  // namespace

std::string_view to_string(ItemState state) {
  return kNames[static_cast<std::size_t>(state)];
}

std::optional<ItemState> item_state_from(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<ItemState>(i);
  }
  return std::nullopt;
}

Result<void> list_items(StoreReader& reader, const Job& job, const std::set<ItemIndex>& running,
                        const ItemFilter& filter, const std::function<bool(const ListedItem&)>& take) {
  StateTeller teller(job, running, filter.among);
  if (auto read = teller.read(reader); !read) return read;

  std::optional<ItemIndex> next = teller.next(filter.only, filter.among.first);
  bool going_on = true;
  ListedItem current;
  const auto emit = [&] {
    current.state = teller.state_of(current);
    if (!filter.only || *filter.only == current.state) going_on = take(current);
    next = teller.next(filter.only, ItemIndex{current.item.value + 1});
    current = ListedItem{next.value_or(ItemIndex{})};
  };
  // Attempts come in the order of their items; items without any stand between them. Those of items that are not wanted
  // are read as long as they are few: else the next wanted one is looked up.
  while (next && going_on) {
    current = ListedItem{*next};
    bool is_far = false;
    auto read = reader.each_attempt(job.id, *next, [&](const Attempt& attempt) {
      while (going_on && next && *next < attempt.item) emit();
      if (!going_on || !next) return false;
      is_far = next->value - attempt.item.value > kFarItems;
      if (attempt.item == *next) {
        current.attempts = attempt.attempt.value;
        current.last = attempt;
      }
      return !is_far;
    });
    if (!read) return read;
    while (!is_far && next && going_on) emit();
  }
  return {};
}

Result<ListedItem> look_up_item(StoreReader& reader, const Job& job, const std::set<ItemIndex>& running,
                                ItemIndex item) {
  if (item.value >= job.total) {
    return fail(ErrorCode::not_found, concat("run '", job.name, "' has no item ", item.value),
                concat("items are numbered 0 to ", job.total == 0 ? 0 : job.total - 1));
  }
  StateTeller teller(job, running, {item, item});
  if (auto read = teller.read(reader); !read) return pass(read);
  ListedItem found{item};
  auto read = reader.each_attempt(job.id, item, [&](const Attempt& attempt) {
    if (attempt.item != item) return false;
    found.attempts = attempt.attempt.value;
    found.last = attempt;
    return true;
  });
  if (!read) return pass(read);
  found.state = teller.state_of(found);
  return found;
}

}  // namespace drover
