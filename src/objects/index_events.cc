// Rules about which events of a bucket go where, and those that are still to be told.
#include "base/text.h"
#include "objects/bucket_index.h"
#include "objects/row_text.h"

namespace drover {

Result<std::vector<EventRule>> BucketIndex::event_rules(std::int64_t bucket) {
  auto rows =
      lend("SELECT id, stream, target, events, prefix, suffix FROM event_rules WHERE bucket = ? ORDER BY place");
  if (!rows) return pass(rows);
  rows->bind(1, bucket);
  std::vector<EventRule> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) return out;
    EventRule rule{.id = rows->text(0),
                   .stream = rows->text(1),
                   .target = rows->text(2),
                   .events = {},
                   .prefix = rows->text(4),
                   .suffix = rows->text(5)};
    const std::string events = rows->text(3);
    for (std::string_view rest = events; !rest.empty();) rule.events.emplace_back(take_until(rest, ' '));
    out.push_back(std::move(rule));
  }
}

Result<void> BucketIndex::set_event_rules(std::int64_t bucket, const std::vector<EventRule>& rules) {
  {
    auto remove = lend("DELETE FROM event_rules WHERE bucket = ?");
    if (!remove) return pass(remove);
    if (auto done = remove->bind(1, bucket).run(); !done) return done;
  }
  std::int64_t place = 0;
  for (const EventRule& it : rules) {
    auto insert = lend("INSERT INTO event_rules VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
    if (!insert) return pass(insert);
    std::string events;
    for (const std::string& event : it.events) events += concat(events.empty() ? "" : " ", event);
    auto done = insert->bind(1, bucket)
                    .bind(2, place++)
                    .bind(3, std::string_view(it.id))
                    .bind(4, std::string_view(it.stream))
                    .bind(5, std::string_view(it.target))
                    .bind(6, std::string_view(events))
                    .bind(7, std::string_view(it.prefix))
                    .bind(8, std::string_view(it.suffix))
                    .run();
    if (!done) return done;
  }
  return {};
}

Result<std::vector<ObjectEvent>> BucketIndex::events(std::uint64_t after, std::uint64_t most) {
  auto rows = lend(
      "SELECT number, stream, rule, event, bucket, region, owner, key, size, etag, version, sequence, time_ms, who, "
      "peer, request FROM outbox WHERE number > ? ORDER BY number LIMIT ?");
  if (!rows) return pass(rows);
  rows->bind(1, stored(after)).bind(2, stored(most));
  std::vector<ObjectEvent> out;
  while (true) {
    auto row = rows->step();
    if (!row) return pass(row);
    if (!*row) return out;
    out.push_back({.number = natural(rows->number(0)),
                   .stream = rows->text(1),
                   .rule = rows->text(2),
                   .event = rows->text(3),
                   .bucket = rows->text(4),
                   .region = rows->text(5),
                   .owner = rows->text(6),
                   .key = rows->text(7),
                   .size = natural(rows->number(8)),
                   .etag = rows->text(9),
                   .version = rows->text(10),
                   .sequence = natural(rows->number(11)),
                   .time_ms = rows->number(12),
                   .cause = {.who = rows->text(13), .peer = rows->text(14), .request = rows->text(15)}});
  }
}

Result<void> BucketIndex::add_event(const ObjectEvent& event) {
  auto insert = lend(
      "INSERT INTO outbox(stream, rule, event, bucket, region, owner, key, size, etag, version, sequence, time_ms, "
      "who, peer, request) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  if (!insert) return pass(insert);
  return insert->bind(1, std::string_view(event.stream))
      .bind(2, std::string_view(event.rule))
      .bind(3, std::string_view(event.event))
      .bind(4, std::string_view(event.bucket))
      .bind(5, std::string_view(event.region))
      .bind(6, std::string_view(event.owner))
      .bind(7, std::string_view(event.key))
      .bind(8, stored(event.size))
      .bind(9, std::string_view(event.etag))
      .bind(10, std::string_view(event.version))
      .bind(11, stored(event.sequence))
      .bind(12, event.time_ms)
      .bind(13, std::string_view(event.cause.who))
      .bind(14, std::string_view(event.cause.peer))
      .bind(15, std::string_view(event.cause.request))
      .run();
}

Result<void> BucketIndex::forget_events(std::uint64_t up_to) {
  auto remove = lend("DELETE FROM outbox WHERE number <= ?");
  if (!remove) return pass(remove);
  return remove->bind(1, stored(up_to)).run();
}

Result<void> BucketIndex::renew_feed_if_all_told() {
  return db_.run("UPDATE numbers SET feed = (abs(random() / 2) | 1) WHERE NOT EXISTS (SELECT 1 FROM outbox)");
}

Result<std::uint64_t> BucketIndex::feed() {
  auto feed = db_.number("SELECT feed FROM numbers");
  if (!feed) return pass(feed);
  return natural(*feed);
}

}  // namespace drover
