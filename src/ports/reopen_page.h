// The items of a retry, page by page, from the ledger.
#pragma once

#include <utility>

#include "ports/store.h"

namespace drover {

/// No page takes longer to read than so many rows of attempts do.
inline constexpr std::uint64_t kMostRowsOfPage = 20'000;

/// The next items of a retry. It may be empty although more follow, where few of very many attempts are meant.
inline Result<ReopenMore> read_reopen_page(StoreReader& reader, const ReopenWanted& wanted,
                                           std::size_t most = kReopenPage) {
  ReopenMore page{wanted.job, wanted.epoch, wanted.from, {}, ItemIndex{kMostItems}};
  std::uint64_t rows = 0;
  auto read = reader.each_attempt(wanted.job, wanted.from, [&](const Attempt& it) {
    const bool is_another = it.item != wanted.from && it.attempt == AttemptNumber{1};
    if (page.again.size() == most || (++rows > kMostRowsOfPage && is_another)) {
      page.next = it.item;
      return false;
    }
    if (it.epoch < wanted.epoch && matches(*wanted.choice, it)) page.again.push_back({it.item, it.attempt, it.state});
    return true;
  });
  if (!read) return pass(read);
  return page;
}

/// The command that begins a retry of these items: the first page of them, and which others follow.
inline Result<ReopenJob> begin_reopening(StoreReader& reader, const Job& job, ReopenChoice choice,
                                         std::size_t most = kReopenPage) {
  const auto shared = std::make_shared<const ReopenChoice>(std::move(choice));
  auto page = read_reopen_page(reader, {job.id, job.epoch + 1, ItemIndex{0}, shared}, most);
  if (!page) return pass(page);
  ReopenJob command{.job = job.id, .epoch = job.epoch, .policy = std::nullopt, .again = std::move(page->again)};
  if (page->next.value >= job.total) return command;
  command.rest = shared;
  command.next = page->next;
  return command;
}

/// How many items of the job are meant. Those that only a look at every attempt can tell are counted by one.
inline Result<std::uint64_t> count_chosen(StoreReader& reader, const Job& job, const ReopenChoice& choice) {
  if (!choice.has_conditions()) return job.cancelled + (choice.failed ? job.failed : 0);
  std::uint64_t count = 0;
  auto read = reader.each_attempt(job.id, ItemIndex{0}, [&](const Attempt& it) {
    if (matches(choice, it)) ++count;
    return true;
  });
  if (!read) return pass(read);
  return count;
}

}  // namespace drover
