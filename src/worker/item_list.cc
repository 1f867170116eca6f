#include "worker/item_list.h"

#include <array>

#include "base/text.h"
#include "core/item_blocks.h"

namespace drover {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"pending",   "waiting", "running",
                                                    "succeeded", "failed",  "cancelled"};

/// What tells an item's state apart from its attempts.
class StateTeller {
 public:
  StateTeller(const Job& job, const std::set<ItemIndex>& running) : job_(job), running_(running), blocks_(job.total) {}

  Result<void> read(StoreReader& reader) {
    bool fits = true;
    auto blocks = reader.each_block(
        job_.id, [&](const BlockRecord& block) { fits = blocks_.decode(block.block, block.marks.value) && fits; });
    if (!blocks) return blocks;
    if (!fits) return fail(ErrorCode::damaged, "the stored blocks of items do not fit the job");
    return reader.each_open_item(job_.id, [&](const OpenItem& item) {
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

 private:
  const Job& job_;
  const std::set<ItemIndex>& running_;
  ItemBlocks blocks_;
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
  StateTeller teller(job, running);
  if (auto read = teller.read(reader); !read) return read;

  ListedItem current{filter.from};
  bool going_on = filter.from.value < job.total;
  // Without an attempt no item is one of these: what lies between is passed over, and may be millions.
  const bool only_tried = filter.only == ItemState::succeeded || filter.only == ItemState::failed;
  const auto emit = [&] {
    current.state = teller.state_of(current);
    if (!filter.only || *filter.only == current.state) going_on = take(current);
    current = ListedItem{ItemIndex{current.item.value + 1}};
  };
  // Attempts come in the order of their items; items without any stand between them.
  auto read = reader.each_attempt(job.id, filter.from, [&](const Attempt& attempt) {
    if (only_tried && current.item < attempt.item) {
      if (current.last) emit();
      current.item = attempt.item;
    }
    while (going_on && current.item < attempt.item) emit();
    current.attempts = attempt.attempt.value;
    current.last = attempt;
    return going_on;
  });
  if (!read) return read;
  while (going_on && current.item.value < job.total && (current.last || !only_tried)) emit();
  return {};
}

Result<ListedItem> look_up_item(StoreReader& reader, const Job& job, const std::set<ItemIndex>& running,
                                ItemIndex item) {
  if (item.value >= job.total) {
    return fail(ErrorCode::not_found, concat("run '", job.name, "' has no item ", item.value),
                concat("its items are 0 to ", job.total == 0 ? 0 : job.total - 1));
  }
  StateTeller teller(job, running);
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
