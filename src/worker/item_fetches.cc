#include "worker/item_fetches.h"

#include <algorithm>

namespace drover {
namespace {

// After a failure, twice as long after each more, up to the longest.
constexpr std::int64_t kFirstPauseMs = 2'000;
constexpr std::int64_t kLongestPauseMs = 60'000;

}  // namespace

std::vector<GrantId> ItemFetches::grants() const {
  std::vector<GrantId> out;
  out.reserve(fetches_.size());
  for (const auto& [grant, fetch] : fetches_) out.push_back(grant);
  return out;
}

std::vector<std::pair<GrantId, ItemRange>> ItemFetches::take_due(std::int64_t now_ms) {
  std::vector<std::pair<GrantId, ItemRange>> out;
  for (auto& [grant, fetch] : fetches_) {
    if (fetch.under_way || now_ms < fetch.not_before_ms) continue;
    fetch.under_way = true;
    out.emplace_back(grant, fetch.items);
  }
  return out;
}

ItemRange* ItemFetches::on_answered(GrantId grant) {
  const auto found = fetches_.find(grant);
  if (found == fetches_.end()) return nullptr;
  found->second.under_way = false;
  found->second.failures = 0;
  return &found->second.items;
}

void ItemFetches::on_failed(GrantId grant, std::int64_t now_ms) {
  const auto found = fetches_.find(grant);
  if (found == fetches_.end()) return;
  Fetch& fetch = found->second;
  fetch.under_way = false;
  fetch.not_before_ms = now_ms + std::min(kFirstPauseMs << std::min(fetch.failures, 10U), kLongestPauseMs);
  ++fetch.failures;
}

}  // namespace drover
