#include "worker/run_logs.h"

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "wire/base64.h"
#include "worker/control.h"

namespace drover {
namespace json = boost::json;
namespace {

LoggedAttempt from_row(const Attempt& row) {
  return {.key = {row.job, row.item, row.attempt},
          .extents = ExtentList::decode(row.log.extents.value),
          .bytes = row.log.bytes,
          .row = row};
}

}  // namespace

std::optional<RunLogs::Holder> RunLogs::ask_holder_for_all() {
  if (!folder_.holder()) return std::nullopt;
  const auto answer = ask_holder(folder_.path(), {{"verb", "status"}});
  if (!answer || !answer->contains("first_segment")) return std::nullopt;
  Holder holder{.unrecorded = {}, .first_segment = answer->at("first_segment").to_number<std::uint64_t>()};
  for (const json::value& one : answer->at("unrecorded").as_array()) {
    holder.unrecorded.emplace_back(ItemIndex{one.at("item").to_number<std::uint64_t>()},
                                   AttemptNumber{one.at("attempt").to_number<std::uint32_t>()});
  }
  return holder;
}

std::optional<LoggedAttempt> RunLogs::ask_running(ItemIndex item) {
  if (!folder_.holder()) return std::nullopt;
  const auto answer = ask_holder(folder_.path(), {{"verb", "log"}, {"item", item.value}});
  if (!answer || !answer->contains("extents")) return std::nullopt;
  const auto attempt = answer->at("attempt").to_number<std::uint32_t>();
  const auto extents = from_base64(std::string_view(answer->at("extents").as_string()));
  if (attempt == 0 || !extents) return std::nullopt;
  return LoggedAttempt{.key = {job_.id, item, AttemptNumber{attempt}},
                       .extents = ExtentList::decode(*extents),
                       .row = std::nullopt,
                       .running = true};
}

bool RunLogs::ask_to_show_all() {
  return folder_.holder() && ask_holder(folder_.path(), {{"verb", "log"}}).has_value();
}

Result<std::vector<LoggedAttempt>> RunLogs::of_item(ItemIndex item) {
  // The holder first: what ends meanwhile is in the ledger when that is read.
  const auto holder = ask_holder_for_all();
  const auto running = ask_running(item);
  std::vector<LoggedAttempt> attempts;
  auto read = reader_.each_attempt(job_.id, item, [&](const Attempt& row) {
    if (row.item == item) attempts.push_back(from_row(row));
    return row.item == item;
  });
  if (!read) return pass(read);
  auto lost = unrecorded(item, holder);
  if (!lost) return pass(lost);
  for (LoggedAttempt& each : *lost) {
    // One that never settled and was not counted may go by the number of the one after it.
    const auto row = std::ranges::find_if(attempts, [&](const LoggedAttempt& it) {
      return it.key == each.key && it.row && it.row->state == AttemptState::lost && it.extents.empty();
    });
    if (row == attempts.end()) {
      attempts.push_back(std::move(each));
    } else {
      row->extents = std::move(each.extents);
    }
  }
  std::ranges::stable_sort(attempts, {},
                           [](const LoggedAttempt& it) { return std::pair(it.key.attempt, it.row.has_value()); });
  const bool has_ended = running && std::ranges::any_of(attempts, [&](const LoggedAttempt& it) {
                           return it.row && it.key == running->key;
                         });
  if (running && !has_ended) attempts.push_back(*running);
  return attempts;
}

Result<void> RunLogs::each(Which which, const std::function<bool(LoggedAttempt)>& take) {
  const auto holder = ask_holder_for_all();
  std::set<std::pair<ItemIndex, AttemptNumber>> open;
  if (holder && which == Which::all) open.insert(holder->unrecorded.begin(), holder->unrecorded.end());
  std::vector<LoggedAttempt> of_one;  // all rows of the item that is being read
  bool going_on = true;
  const auto give = [&] {
    const bool wanted = which == Which::all || std::ranges::any_of(of_one, [](const LoggedAttempt& it) {
                          return it.row->settled && it.row->state == AttemptState::failed;
                        });
    for (LoggedAttempt& each : of_one) {
      if (going_on && wanted && !each.extents.empty()) going_on = take(std::move(each));
    }
    of_one.clear();
  };
  auto read = reader_.each_attempt(job_.id, ItemIndex{0}, [&](const Attempt& row) {
    if (!of_one.empty() && of_one.back().key.item != row.item) give();
    of_one.push_back(from_row(row));
    open.erase({row.item, row.attempt});
    return going_on;
  });
  if (!read) return pass(read);
  give();
  if (which == Which::failed) return {};
  auto lost = unrecorded(std::nullopt, holder);
  if (!lost) return pass(lost);
  for (LoggedAttempt& each : *lost) {
    if (going_on) going_on = take(std::move(each));
  }
  for (const auto& [item, attempt] : open) {
    if (!going_on) break;
    // It may be in the ledger by now.
    auto attempts = of_item(item);
    if (!attempts) return pass(attempts);
    for (LoggedAttempt& each : *attempts) {
      if (each.key.attempt == attempt && going_on && !each.extents.empty()) going_on = take(std::move(each));
    }
  }
  return {};
}

// Output that no row speaks of, in segments that nobody closed.
Result<std::vector<LoggedAttempt>> RunLogs::unrecorded(std::optional<ItemIndex> item,
                                                       const std::optional<Holder>& holder) {
  std::vector<std::uint64_t> segments = logs_.segments();
  // What is in the holder's own has a row or is about to.
  if (holder) std::erase_if(segments, [&](std::uint64_t segment) { return segment >= holder->first_segment; });
  if (found_ && found_->item == item && found_->segments == segments) return found_->attempts;
  std::map<LogKey, LoggedAttempt> found;
  std::map<LogKey, ExtentList> recorded;
  const auto rows_cover = [&](const LogKey& key, const FramePlace& place) -> Result<bool> {
    auto it = recorded.find(key);
    if (it == recorded.end()) {
      if (recorded.size() > 4096) recorded.clear();
      ExtentList extents;
      auto read = reader_.each_attempt(job_.id, key.item, [&](const Attempt& row) {
        if (row.item == key.item && row.attempt == key.attempt) extents = ExtentList::decode(row.log.extents.value);
        return row.item == key.item && row.attempt < key.attempt;
      });
      if (!read) return pass(read);
      it = recorded.emplace(key, std::move(extents)).first;
    }
    return it->second.covers(place.segment, place.offset);
  };

  for (const std::uint64_t segment : segments) {
    auto closed = logs_.is_closed(segment);
    if (!closed) return pass(closed);
    if (*closed) continue;
    for (std::uint64_t at = 0;;) {
      auto read = logs_.frame_at(segment, at);
      if (!read) return pass(read);
      const std::optional<FramePlace>& place = *read;
      if (!place) break;
      at = place->next;
      auto raw = logs_.frame(*place);
      if (!raw) return pass(raw);
      if (*raw == nullptr) continue;
      RecordCursor cursor(**raw);
      while (const auto record = cursor.next()) {
        if (record->key.job != job_.id || (item && record->key.item != *item)) continue;
        auto covered = rows_cover(record->key, *place);
        if (!covered) return pass(covered);
        if (*covered) continue;
        LoggedAttempt& attempt = found[record->key];
        attempt.key = record->key;
        attempt.extents.add({segment, place->offset, place->next - place->offset});
        attempt.bytes += record->bytes.size();
      }
    }
  }
  std::vector<LoggedAttempt> all;
  all.reserve(found.size());
  for (auto& [key, attempt] : found) all.push_back(std::move(attempt));
  found_ = {item, std::move(segments), all};
  return all;
}

}  // namespace drover
