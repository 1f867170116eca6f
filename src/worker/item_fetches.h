// Leases of which something is still missing: what their items are, or their job. Each is asked for until it is there;
// while the server cannot tell, less and less often.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/lease.h"
#include "wire/worker_protocol.h"

namespace drover {

class ItemFetches {
 public:
  void add(GrantId grant, ItemRange items) { fetches_[grant] = {.items = items}; }
  void remove(GrantId grant) { fetches_.erase(grant); }
  std::vector<GrantId> grants() const;

  /// What is to be asked for now. Each is under way until on_answered() or on_failed().
  std::vector<std::pair<GrantId, ItemRange>> take_due(std::int64_t now_ms);
  /// What of it is left, for the caller to shorten; nullptr: nobody wants it any more.
  ItemRange* on_answered(GrantId grant);
  /// It is asked for again after a pause.
  void on_failed(GrantId grant, std::int64_t now_ms);

 private:
  struct Fetch {
    ItemRange items;
    bool under_way = false;
    std::uint32_t failures = 0;  // in a row
    std::int64_t not_before_ms = 0;
  };

  std::map<GrantId, Fetch> fetches_;
};

}  // namespace drover
