// Pages of what is in a bucket: objects, versions of them, uploads that are under way.
#include <algorithm>

#include "base/text.h"
#include "objects/bucket_index.h"
#include "objects/row_text.h"

namespace drover {
namespace {

/// The smallest text that sorts after everything with this prefix; empty: nothing does.
std::string behind_all_with(std::string text) {
  while (!text.empty() && text.back() == '\xff') text.pop_back();
  if (!text.empty()) text.back() = static_cast<char>(text.back() + 1);
  return text;
}

/// What a key is shown as when it is not shown itself: the key up to the delimiter's end.
std::optional<std::string_view> prefix_for(std::string_view key, std::string_view prefix, std::string_view delimiter) {
  if (delimiter.empty()) return std::nullopt;
  const std::size_t at = key.find(delimiter, prefix.size());
  if (at == std::string_view::npos) return std::nullopt;
  return key.substr(0, at + delimiter.size());
}

/// Where a page begins.
struct Start {
  std::string from;
  bool is_behind = false;  // `from` itself was on the page before
  bool is_end = false;     // nothing can follow
};

Start start_of(const std::string& prefix, const std::string& delimiter, const std::string& after) {
  if (after < prefix || after.empty()) return {.from = prefix};
  const bool was_prefix = after.starts_with(prefix) && prefix_for(after, prefix, delimiter) == after;
  if (!was_prefix) return {.from = after, .is_behind = true};
  Start out{.from = behind_all_with(after)};
  out.is_end = out.from.empty();
  return out;
}

/// What comes behind all keys that a prefix was shown for.
Start start_behind(std::string prefix) {
  Start out{.from = behind_all_with(std::move(prefix))};
  out.is_end = out.from.empty();
  return out;
}

/// key, size, modified_ms, etag, class.
StoredObject listed_object(const Statement& row) {
  return {.key = row.text(0),
          .size = natural(row.number(1)),
          .modified_ms = row.number(2),
          .etag = row.text(3),
          .storage_class = row.text(4)};
}

}  // namespace

// A prefix that is shown for many keys costs one step: the next one looks behind all of them.
Result<ObjectPage> BucketIndex::list(std::int64_t bucket, const ObjectQuestion& question) {
  ObjectPage out;
  Start start = start_of(question.prefix, question.delimiter, question.after);
  while (!start.is_end) {
    auto rows =
        lend(start.is_behind ? "SELECT key, size, modified_ms, etag, class FROM objects WHERE bucket = ? AND key > ? "
                               "ORDER BY key"
                             : "SELECT key, size, modified_ms, etag, class FROM objects WHERE bucket = ? AND key >= ? "
                               "ORDER BY key");
    if (!rows) return pass(rows);
    rows->bind(1, bucket).bind(2, std::string_view(start.from));
    std::optional<std::string> jumped_over;
    while (!jumped_over) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) return out;
      StoredObject object = listed_object(*rows);
      if (!object.key.starts_with(question.prefix)) return out;
      if (out.objects.size() + out.prefixes.size() >= question.most) {
        out.is_cut = true;
        return out;
      }
      if (const auto shown = prefix_for(object.key, question.prefix, question.delimiter)) {
        jumped_over = std::string(*shown);
        out.last = *jumped_over;
        out.prefixes.push_back(*jumped_over);
      } else {
        out.last = object.key;
        out.objects.push_back(std::move(object));
      }
    }
    start = start_behind(std::move(*jumped_over));
  }
  return out;
}

// The current one of a key has the highest sequence, so that one order serves for both tables.
Result<VersionPage> BucketIndex::list_versions(std::int64_t bucket, const ObjectQuestion& question) {
  constexpr std::string_view kSql =
      "SELECT key, size, modified_ms, etag, class, sequence, version, is_marker, 1 FROM objects WHERE bucket = ?1 "
      "AND key >= ?2 UNION ALL "
      "SELECT key, size, modified_ms, etag, class, sequence, version, is_marker, 0 FROM versions WHERE bucket = ?1 "
      "AND key >= ?2 ORDER BY 1, 6 DESC";
  VersionPage out;
  Start start = start_of(question.prefix, question.delimiter, question.after);
  std::string last_of_key;  // to tell the newest of a key, which a marker may be
  while (!start.is_end) {
    auto rows = lend(kSql);
    if (!rows) return pass(rows);
    rows->bind(1, bucket).bind(2, std::string_view(start.from));
    std::optional<std::string> jumped_over;
    while (!jumped_over) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) return out;
      StoredObject object = listed_object(*rows);
      object.sequence = natural(rows->number(5));
      object.version = rows->text(6);
      object.is_marker = rows->number(7) != 0;
      const bool is_newest = object.key != last_of_key;
      last_of_key = object.key;
      if (start.is_behind && object.key == start.from && object.sequence >= question.after_sequence) continue;
      if (!object.key.starts_with(question.prefix)) return out;
      if (out.versions.size() + out.prefixes.size() >= question.most) {
        out.is_cut = true;
        return out;
      }
      if (const auto shown = prefix_for(object.key, question.prefix, question.delimiter)) {
        jumped_over = std::string(*shown);
        out.last_key = *jumped_over;
        out.last_sequence = 0;
        out.prefixes.push_back(*jumped_over);
      } else {
        out.last_key = object.key;
        out.last_sequence = object.sequence;
        out.versions.emplace_back(std::move(object), is_newest);
      }
    }
    start = start_behind(std::move(*jumped_over));
  }
  return out;
}

Result<UploadPage> BucketIndex::list_uploads(std::int64_t bucket, const UploadQuestion& question) {
  UploadPage out;
  Start start = start_of(question.prefix, question.delimiter, question.after);
  const bool goes_on_in_key = start.is_behind && !question.after_id.empty();
  const std::uint64_t after_upload = goes_on_in_key ? sequence_in(question.after_id).value_or(0) : 0;
  while (!start.is_end) {
    auto rows = lend(
        "SELECT key, id, begun_ms, owner, class, upload FROM uploads WHERE bucket = ? AND key >= ? ORDER BY key, "
        "upload");
    if (!rows) return pass(rows);
    rows->bind(1, bucket).bind(2, std::string_view(start.from));
    std::optional<std::string> jumped_over;
    while (!jumped_over) {
      auto row = rows->step();
      if (!row) return pass(row);
      if (!*row) return out;
      const std::string key = rows->text(0);
      const bool is_same_key = start.is_behind && key == start.from;
      if (is_same_key && (!goes_on_in_key || natural(rows->number(5)) <= after_upload)) continue;
      if (!key.starts_with(question.prefix)) return out;
      if (out.uploads.size() + out.prefixes.size() >= question.most) {
        out.is_cut = true;
        return out;
      }
      if (const auto shown = prefix_for(key, question.prefix, question.delimiter)) {
        jumped_over = std::string(*shown);
        out.last_key = *jumped_over;
        out.last_id.clear();
        out.prefixes.push_back(*jumped_over);
      } else {
        out.last_key = key;
        out.last_id = rows->text(1);
        NewUpload object{.bucket = {}, .key = key, .storage_class = rows->text(4), .owner = rows->text(3)};
        out.uploads.push_back({.id = out.last_id, .begun_ms = rows->number(2), .object = std::move(object)});
      }
    }
    start = start_behind(std::move(*jumped_over));
  }
  return out;
}

}  // namespace drover
