// The items of a run with the state of each: what settled comes from the ledger, the rest from blocks and open rows.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "base/result.h"
#include "ports/store.h"

namespace drover {

enum class ItemState : std::uint8_t { pending, waiting, running, succeeded, failed, cancelled };
std::string_view to_string(ItemState state);
std::optional<ItemState> item_state_from(std::string_view name);

struct ListedItem {
  ItemIndex item;
  ItemState state = ItemState::pending;
  std::uint64_t attempts = 0;
  std::optional<Attempt> last;  // the latest attempt that ended
};

/// Which items are listed.
struct ItemFilter {
  ItemSpan among = {};
  std::optional<ItemState> only = {};  // nothing: all
};

/// The items in order, until `take` says to stop. `running` are those that run now.
Result<void> list_items(StoreReader& reader, const Job& job, const std::set<ItemIndex>& running,
                        const ItemFilter& filter, const std::function<bool(const ListedItem&)>& take);

/// One item of the run.
Result<ListedItem> look_up_item(StoreReader& reader, const Job& job, const std::set<ItemIndex>& running,
                                ItemIndex item);

}  // namespace drover
