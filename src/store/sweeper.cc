#include "store/sweeper.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "ports/store.h"

namespace drover {
namespace {

// More free pages than this are given back to the file system.
constexpr std::int64_t kFreePages = 4096;
// While commits come, so many of them at a time. Those commits wait, and most free pages will be used again anyway.
constexpr std::uint64_t kPagesBesideTraffic = 256;
// How many small rows a chunk of a list is like.
constexpr std::uint64_t kRowsLikeAChunk = 64;
constexpr auto kBlock = static_cast<std::int64_t>(MessageBlock::kMessages);
constexpr std::int64_t kFewRows = 64;  // are not worth the trouble
constexpr std::size_t kDroppedAtOnce = 1000;
constexpr std::uint64_t kRowsAtOpen = 2'000;
constexpr int kSweepsAtOpen = 64;
constexpr std::uint64_t kKeptEvents = 100'000;

}  // namespace

Result<void> Sweeper::sweep_at_open() {
  auto dropped = db_.in_transaction([&]() -> Result<void> {
    for (const char* sql : {
             "INSERT OR IGNORE INTO deleted_manifests"
             " SELECT manifest FROM manifests WHERE manifest NOT IN (SELECT manifest FROM jobs)",
             "DELETE FROM manifests WHERE manifest NOT IN (SELECT manifest FROM jobs)",
             "DELETE FROM definitions WHERE definition NOT IN (SELECT definition FROM jobs)"
             " AND definition NOT IN (SELECT definition FROM named_definitions)",
         }) {
      if (auto done = db_.run(sql); !done) return done;
    }
    return {};
  });
  if (!dropped) return dropped;
  // A run is opened, works and ends: there is no later. What is too much for now goes the next time.
  for (int i = 0; i < kSweepsAtOpen; ++i) {
    auto more = sweep_lists(kRowsAtOpen);
    if (!more) return pass(more);
    if (!*more) break;
  }
  return {};
}

Result<void> Sweeper::drop_unused(std::int64_t now_ms, std::int64_t unused_ms) {
  sparse_from_ = 0;
  auto lists = unused_for(unused_ms, now_ms, unused_manifests_,
                          "SELECT manifest FROM manifests WHERE items IS NOT NULL"
                          " AND manifest NOT IN (SELECT manifest FROM jobs)");
  if (!lists) return pass(lists);
  auto definitions =
      unused_for(unused_ms, now_ms, unused_definitions_,
                 "SELECT definition FROM definitions WHERE definition NOT IN (SELECT definition FROM jobs)"
                 " AND definition NOT IN (SELECT definition FROM named_definitions)");
  if (!definitions) return pass(definitions);
  if (lists->empty() && definitions->empty()) return {};
  return db_.in_transaction([&]() -> Result<void> {
    if (auto done = delete_lists(*lists); !done) return done;
    for (const std::int64_t definition : *definitions) {
      auto done = db_.run(concat("DELETE FROM definitions WHERE definition = ", definition));
      if (!done) return done;
    }
    return {};
  });
}

// Of one job. Items are numbered in the order in which they were handed out, which is about that in which they ended:
// where none was deleted, the others are young.
Result<bool> Sweeper::drop_old_attempts(std::int64_t ended_by_ms, std::uint64_t rows) {
  kept_from_ms_ = ended_by_ms;
  auto job =
      db_.number(concat("SELECT coalesce(min(job), 0) FROM jobs WHERE stream IS NOT NULL AND job >= ", old_from_.job));
  if (!job) return pass(job);
  if (*job != old_from_.job) old_from_ = {*job, 0};
  if (*job == 0) return false;
  const std::string from = concat("FROM attempt_rows WHERE job = ", *job, " AND item >= ", old_from_.item);
  auto last =
      db_.number(concat("SELECT coalesce(max(item), -1) FROM (SELECT item ", from, " ORDER BY item LIMIT ", rows, ")"));
  if (!last) return pass(last);
  auto done = db_.in_transaction(
      [&] { return db_.run(concat("DELETE ", from, " AND item <= ", *last, " AND ended_ms <= ", ended_by_ms)); });
  if (!done) return pass(done);
  old_from_ = db_.changes() > 0 ? OldAttempts{*job, *last + 1} : OldAttempts{*job + 1, 0};
  return true;
}

// The first kind that has something to delete, beginning with the one after the last.
Result<bool> Sweeper::sweep(std::uint64_t rows, Traffic traffic) {
  using Kind = Result<bool> (Sweeper::*)(std::uint64_t rows);
  static constexpr Kind kKinds[] = {
      &Sweeper::sweep_jobs,          &Sweeper::sweep_lists,          &Sweeper::sweep_messages, &Sweeper::sweep_streams,
      &Sweeper::sweep_sparse_blocks, &Sweeper::sweep_former_workers, &Sweeper::sweep_events};
  for (std::size_t i = 0; i < std::size(kKinds); ++i) {
    const std::size_t kind = (next_kind_ + i) % std::size(kKinds);
    auto more = (this->*kKinds[kind])(rows);
    if (!more) return more;
    if (!*more) continue;
    next_kind_ = kind + 1;
    return true;
  }
  auto more = give_pages_back(traffic == Traffic::none ? rows : std::min(rows, kPagesBesideTraffic));
  if (!more || traffic == Traffic::some) return more ? false : more;  // the others with later sweeps
  if (!*more) {
    if (auto done = shorten_file(); !done) return pass(done);
  }
  return more;
}

// Those of them that were unused for so long; the others are remembered.
Result<std::vector<std::int64_t>> Sweeper::unused_for(std::int64_t least_ms, std::int64_t now_ms, Unused& known,
                                                      const char* which) {
  auto rows = db_.prepare(which);
  if (!rows) return pass(rows);
  Unused seen;
  std::vector<std::int64_t> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) break;
    const std::int64_t number = rows->number(0);
    const auto before = known.find(number);
    const std::int64_t since_ms = before == known.end() ? now_ms : before->second;
    if (now_ms - since_ms >= least_ms && before != known.end() && out.size() < kDroppedAtOnce) {
      out.push_back(number);
    } else {
      seen[number] = since_ms;
    }
  }
  known = std::move(seen);
  return out;
}

Result<void> Sweeper::delete_lists(const std::vector<std::int64_t>& manifests) {
  for (const std::int64_t manifest : manifests) {
    auto done = db_.run(concat("INSERT OR IGNORE INTO deleted_manifests VALUES(", manifest,
                               "); DELETE FROM manifests WHERE manifest = ", manifest));
    if (!done) return done;
  }
  return {};
}

// Deletes so many of the rows at most, and says how many it were.
Result<std::uint64_t> Sweeper::delete_some(const Rows& rows, const std::string& which, std::uint64_t most) {
  auto done = db_.run(concat("DELETE FROM ", rows.table, " WHERE (", rows.key, ") IN (SELECT ", rows.key, " FROM ",
                             rows.table, " WHERE ", which, " LIMIT ", most, ")"));
  if (!done) return pass(done);
  return db_.changes();
}

// Some rows of one deleted job; whether there was one.
Result<bool> Sweeper::sweep_jobs(std::uint64_t rows) {
  auto job = db_.number("SELECT coalesce(min(job), 0) FROM deleted_jobs");
  if (!job) return pass(job);
  if (*job == 0) return false;
  auto done = db_.in_transaction([&]() -> Result<void> {
    constexpr Rows kAll[] = {{"attempt_rows", "job, item, attempt"},
                             {"open_items", "job, item"},
                             {"blocks", "job, block"},
                             {"peaks", "job, block"}};
    for (const Rows& it : kAll) {
      const std::uint64_t most = rows + 1;
      auto gone = delete_some(it, concat("job = ", *job), most);
      if (!gone) return pass(gone);
      if (*gone >= most) return {};
      rows -= *gone;
    }
    return db_.run(concat("DELETE FROM deleted_jobs WHERE job = ", *job));
  });
  if (!done) return pass(done);
  return true;
}

// Some chunks of one deleted list; whether there was one.
Result<bool> Sweeper::sweep_lists(std::uint64_t rows) {
  auto manifest = db_.number("SELECT coalesce(min(manifest), 0) FROM deleted_manifests");
  if (!manifest) return pass(manifest);
  if (*manifest == 0) return false;
  const std::uint64_t most = rows / kRowsLikeAChunk + 1;
  auto done = db_.in_transaction([&]() -> Result<void> {
    auto gone = delete_some({"manifest_chunks", "manifest, first"}, concat("manifest = ", *manifest), most);
    if (!gone) return pass(gone);
    if (*gone >= most) return {};
    return db_.run(concat("DELETE FROM deleted_manifests WHERE manifest = ", *manifest));
  });
  if (!done) return pass(done);
  return true;
}

// The messages of a deleted block, which are not many bytes, or of several with few messages; whether there was one.
Result<bool> Sweeper::sweep_messages(std::uint64_t rows) {
  bool was_one = false;
  auto done = db_.in_transaction([&]() -> Result<void> {
    for (std::uint64_t left = rows; left > 0;) {
      auto first = db_.number("SELECT coalesce(min(first), 0) FROM deleted_message_blocks");
      if (!first) return pass(first);
      if (*first == 0) return {};
      was_one = true;
      const std::string which = concat(" WHERE message BETWEEN ", *first, " AND ", *first + kBlock - 1);
      if (auto gone = db_.run(concat("DELETE FROM message_contents", which)); !gone) return gone;
      left -= std::min(left, db_.changes() + 1);
      auto gone = db_.run(
          concat("DELETE FROM dead_letter_rows", which, "; DELETE FROM deleted_message_blocks WHERE first = ", *first));
      if (!gone) return gone;
    }
    return {};
  });
  if (!done) return pass(done);
  return was_one;
}

// What deleted messages said, of a block that others keep from being deleted: when most of it is gone. One block;
// whether there are others to look at.
Result<bool> Sweeper::sweep_sparse_blocks(std::uint64_t /*rows*/) {
  if (!sparse_from_) return false;
  auto first = db_.number(concat("SELECT coalesce(min(first), 0) FROM message_blocks WHERE first >= ", *sparse_from_,
                                 " AND taken = count"));
  if (!first) return pass(first);
  if (*first == 0) {
    sparse_from_.reset();
    return false;
  }
  sparse_from_ = *first + kBlock;
  const std::string which = concat(" WHERE message BETWEEN ", *first, " AND ", *first + kBlock - 1);
  auto kept = db_.number(concat("SELECT count(*) FROM message_contents", which));
  if (!kept) return pass(kept);
  auto open = db_.number(concat("SELECT count(*) FROM open_messages", which));
  if (!open) return pass(open);
  if (*kept <= 2 * *open + kFewRows) return true;
  auto done = db_.in_transaction([&] {
    return db_.run(concat("DELETE FROM message_contents", which,
                          " AND message NOT IN (SELECT message FROM open_messages", which, ")"));
  });
  if (!done) return pass(done);
  return true;
}

// Some records of a stream that was purged or deleted; whether there was one. Its blocks become deleted ones.
Result<bool> Sweeper::sweep_streams(std::uint64_t rows) {
  auto stream = db_.number("SELECT coalesce(min(stream), 0) FROM deleted_streams");
  if (!stream) return pass(stream);
  if (*stream == 0) return false;
  auto first = db_.number(concat("SELECT coalesce(min(first), 0) FROM message_blocks WHERE stream = ", *stream,
                                 " AND first < (SELECT before FROM deleted_streams WHERE stream = ", *stream, ")"));
  if (!first) return pass(first);
  auto done = db_.in_transaction([&]() -> Result<void> {
    const auto delete_all = [&](const Rows& which, const std::string& where) -> Result<bool> {
      auto gone = delete_some(which, where, rows);
      if (!gone) return pass(gone);
      return *gone < rows;
    };
    if (*first > 0) {
      const std::int64_t end = *first + kBlock;
      auto all = delete_all({"open_messages", "message"}, concat("message >= ", *first, " AND message < ", end));
      if (!all) return pass(all);
      if (!*all) return {};
      return db_.run(concat("REPLACE INTO deleted_message_blocks VALUES(", *first,
                            "); DELETE FROM message_blocks WHERE first = ", *first));
    }
    auto all = delete_all({"sent_before", "stream, key"},
                          concat("stream = ", *stream, " AND stream NOT IN (SELECT stream FROM streams)"));
    if (!all) return pass(all);
    if (!*all) return {};
    return db_.run(concat("DELETE FROM deleted_streams WHERE stream = ", *stream));
  });
  if (!done) return pass(done);
  return true;
}

// Some of the forgotten workers that no attempt refers to, because they were forgotten before the oldest job was
// created; whether there were some. Jobs are numbered in the order in which they are created. Those on streams may be
// very old, but not their attempts.
Result<bool> Sweeper::sweep_former_workers(std::uint64_t rows) {
  constexpr std::int64_t kNever = std::int64_t{1} << 62;
  auto oldest_ms =
      db_.number(concat("SELECT coalesce((SELECT created_ms FROM jobs ", kept_from_ms_ ? "WHERE stream IS NULL " : "",
                        "ORDER BY job LIMIT 1), ", kNever, ")"));
  if (!oldest_ms) return pass(oldest_ms);
  auto on_streams = db_.number("SELECT count(*) FROM jobs WHERE stream IS NOT NULL");
  if (!on_streams) return pass(on_streams);
  const std::int64_t before_ms = *on_streams > 0 ? std::min(*oldest_ms, kept_from_ms_.value_or(kNever)) : *oldest_ms;
  auto gone = delete_some({"former_workers", "worker"}, concat("forgotten_ms < ", before_ms), rows);
  if (!gone) return pass(gone);
  return *gone > 0;
}

// The oldest of more events than are kept; whether there were some.
Result<bool> Sweeper::sweep_events(std::uint64_t rows) {
  auto done =
      db_.run(concat("DELETE FROM events WHERE event IN (SELECT event FROM events WHERE event <= "
                     "(SELECT max(event) FROM events) - ",
                     kKeptEvents, " ORDER BY event LIMIT ", rows, ")"));
  if (!done) return pass(done);
  return db_.changes() > 0;
}

// Free pages are used again first. Whether there are more to give back.
Result<bool> Sweeper::give_pages_back(std::uint64_t pages) {
  auto free = db_.number("PRAGMA freelist_count");
  if (!free) return pass(free);
  if (*free <= kFreePages) return false;
  if (auto done = db_.run(concat("PRAGMA incremental_vacuum(", pages, ")")); !done) return pass(done);
  auto left = db_.number("PRAGMA freelist_count");
  if (!left) return pass(left);
  const bool is_less = *left < *free;  // a file that was not made for it keeps them all
  is_file_longer_ = is_file_longer_ || is_less;
  return is_less;
}

// Pages that were given back leave the file when SQLite copies its log into it. Commits bring that about; after the
// last of them it is done here. Somebody who still reads what was there before puts it off until the next sweep.
Result<void> Sweeper::shorten_file() {
  if (!is_file_longer_) return {};
  auto copied = db_.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  if (!copied) return pass(copied);
  auto row = copied->step();
  if (!row) return pass(row);
  const bool is_busy = copied->number(0) != 0;
  const std::int64_t pages = copied->number(1), copied_pages = copied->number(2);
  is_file_longer_ = is_busy || copied_pages < pages;
  return {};
}

}  // namespace drover
