// How buckets change, and what is kept with them.
#include <algorithm>
#include <set>

#include "base/text.h"
#include "objects/bucket_lookup.h"
#include "objects/bucket_store.h"

namespace drover {
namespace {

constexpr std::uint64_t kDroppedAtOnce = 1000;

/// "s3:ObjectCreated:*" and "s3:ObjectCreated:Put" are about "ObjectCreated:Put".
bool is_about(std::string_view pattern, std::string_view event) {
  constexpr std::string_view kBegin = "s3:";
  if (!pattern.starts_with(kBegin)) return false;
  pattern.remove_prefix(kBegin.size());
  if (!pattern.ends_with('*')) return pattern == event;
  pattern.remove_suffix(1);
  return event.starts_with(pattern);
}

bool is_for(const EventRule& rule, std::string_view event, std::string_view key) {
  return key.starts_with(rule.prefix) && key.ends_with(rule.suffix) &&
         std::ranges::any_of(rule.events, [&](const std::string& it) { return is_about(it, event); });
}

}  // namespace

void BucketStore::create_bucket(Bucket bucket, BucketAnswered<void> answered) {
  change<void>(
      [this, bucket = std::move(bucket)](BucketIndex& index) mutable -> Result<BucketResult<void>> {
        auto there = index.bucket(bucket.name);
        if (!there) return pass(there);
        if (there->has_value()) {
          return refused<void>({BucketFault::bucket_exists,
                                {ErrorCode::conflict, concat("the bucket '", bucket.name, "' is already there"), ""}});
        }
        bucket.created_ms = outside_.now_ms();
        if (auto added = index.add_bucket(bucket); !added) return pass(added);
        return BucketResult<void>();
      },
      std::move(answered));
}

void BucketStore::delete_bucket(std::string name, BucketAnswered<void> answered) {
  change<void>(
      [this, name = std::move(name)](BucketIndex& index) -> Result<BucketResult<void>> {
        auto found = found_bucket(index, name);
        if (!found) return refused<void>(std::move(found.error()));
        auto is_empty = index.is_empty(found->number);
        if (!is_empty) return pass(is_empty);
        if (!*is_empty) {
          return refused<void>({BucketFault::bucket_not_empty,
                                {ErrorCode::conflict, concat("the bucket '", name, "' is not empty"),
                                 concat("remove what is in it with 'aws s3 rm --recursive s3://", name, "/'")}});
        }
        while (true) {
          auto uploads = index.uploads_of(found->number, kDroppedAtOnce);
          if (!uploads) return pass(uploads);
          if (uploads->empty()) break;
          for (const std::int64_t it : *uploads) {
            if (auto dropped = drop_upload(index, it); !dropped) return pass(dropped);
          }
        }
        if (auto removed = index.remove_bucket(found->number); !removed) return pass(removed);
        rules_.erase(found->number);
        return BucketResult<void>();
      },
      std::move(answered));
}

void BucketStore::set_versioning(std::string bucket, Versioning versioning, BucketAnswered<void> answered) {
  change<void>(
      [bucket = std::move(bucket), versioning](BucketIndex& index) -> Result<BucketResult<void>> {
        auto found = found_bucket(index, bucket);
        if (!found) return refused<void>(std::move(found.error()));
        if (auto set = index.set_versioning(found->number, versioning); !set) return pass(set);
        return BucketResult<void>();
      },
      std::move(answered));
}

void BucketStore::set_setting(std::string bucket, std::string kind, std::optional<std::string> text,
                              BucketAnswered<void> answered) {
  change<void>(
      [bucket = std::move(bucket), kind = std::move(kind),
       text = std::move(text)](BucketIndex& index) -> Result<BucketResult<void>> {
        auto found = found_bucket(index, bucket);
        if (!found) return refused<void>(std::move(found.error()));
        if (auto set = index.set_setting(found->number, kind, text); !set) return pass(set);
        return BucketResult<void>();
      },
      std::move(answered));
}

void BucketStore::set_event_rules(std::string bucket, std::vector<EventRule> rules, EventCause cause,
                                  BucketAnswered<void> answered) {
  change<void>(
      [this, bucket = std::move(bucket), rules = std::move(rules),
       cause = std::move(cause)](BucketIndex& index) -> Result<BucketResult<void>> {
        auto found = found_bucket(index, bucket);
        if (!found) return refused<void>(std::move(found.error()));
        if (auto set = index.set_event_rules(found->number, rules); !set) return pass(set);
        std::set<std::string> told;
        for (const EventRule& it : rules) {
          if (!told.insert(it.stream).second) continue;
          auto sequence = take_sequence(index);
          if (!sequence) return pass(sequence);
          const ObjectEvent event{.stream = it.stream,
                                  .rule = it.id,
                                  .event = "TestEvent",
                                  .bucket = bucket,
                                  .region = found->bucket.region,
                                  .owner = found->bucket.owner,
                                  .sequence = *sequence,
                                  .time_ms = outside_.now_ms(),
                                  .cause = cause};
          if (auto added = index.add_event(event); !added) return pass(added);
          made_events_ = true;
        }
        rules_.insert_or_assign(found->number, rules);
        return BucketResult<void>();
      },
      std::move(answered));
}

void BucketStore::forget_events(std::uint64_t up_to, BucketAnswered<void> answered) {
  change<void>(
      [up_to](BucketIndex& index) -> Result<BucketResult<void>> {
        if (auto done = index.forget_events(up_to); !done) return pass(done);
        return BucketResult<void>();
      },
      std::move(answered));
}

Result<const std::vector<EventRule>*> BucketStore::rules_of(BucketIndex& index, std::int64_t bucket) {
  auto known = rules_.find(bucket);
  if (known == rules_.end()) {
    auto rules = index.event_rules(bucket);
    if (!rules) return pass(rules);
    known = rules_.emplace(bucket, std::move(*rules)).first;
  }
  return &known->second;
}

Result<void> BucketStore::tell(BucketIndex& index, const BucketRow& bucket, const StoredObject& object,
                               const std::string& event, const EventCause& cause) {
  auto rules = rules_of(index, bucket.number);
  if (!rules) return pass(rules);
  for (const EventRule& it : **rules) {
    if (!is_for(it, event, object.key)) continue;
    auto added = index.add_event({.stream = it.stream,
                                  .rule = it.id,
                                  .event = event,
                                  .bucket = bucket.bucket.name,
                                  .region = bucket.bucket.region,
                                  .owner = bucket.bucket.owner,
                                  .key = object.key,
                                  .size = object.size,
                                  .etag = object.etag,
                                  .version = bucket.bucket.versioning == Versioning::never ? "" : object.version,
                                  .sequence = object.sequence,
                                  .time_ms = outside_.now_ms(),
                                  .cause = cause});
    if (!added) return added;
    made_events_ = true;
  }
  return {};
}

}  // namespace drover
