#include "wire/stream_json.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>
#include <limits>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/body_fields.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::size_t kLongestName = 80;

/// `bounds` are the two numbers for people.
BodyFields::Read time_within(std::int64_t least_ms, std::int64_t most_ms, std::string_view bounds, std::int64_t& out) {
  return [=, &out](const json::value& value) -> std::string {
    auto read = parse_duration_ms(BodyFields::measure_in(value));
    if (!read || *read < least_ms || *read > most_ms) return concat("must be a time from ", bounds);
    out = *read;
    return {};
  };
}

BodyFields::Read message_limit(std::uint64_t& out) {
  return [&out](const json::value& value) -> std::string {
    auto read = parse_size(BodyFields::measure_in(value));
    if (!read || *read < kLeastMessageLimit || *read > kMostMessageBytes) return "must be a size from 1KiB to 1MiB";
    out = *read;
    return {};
  };
}

BodyFields::Read dead_letters(std::string& out) {
  return [&out](const json::value& value) -> std::string {
    if (!value.is_string()) return "must be the name of a stream, or empty for none";
    const std::string_view name = value.get_string();
    if (!name.empty() && !is_stream_name(name))
      return concat("is '", utf8(name), "', which is not a valid stream name");
    out = name;
    return {};
  };
}

Result<void> check_fifo(const StreamSpec& spec, std::optional<bool> said_fifo) {
  if (said_fifo == true && !spec.fifo) {
    return fail(ErrorCode::bad_input,
                concat("the name of a FIFO stream must end in ", kFifoSuffix, ", and '", spec.name, "' does not"),
                concat("name it '", spec.name, kFifoSuffix, "'; an existing stream cannot become a FIFO stream"));
  }
  if (said_fifo == false && spec.fifo) {
    return fail(ErrorCode::bad_input,
                concat("stream '", spec.name, "' is a FIFO stream: its name ends in ", kFifoSuffix),
                concat("omit 'fifo', or use a name that does not end in ", kFifoSuffix));
  }
  if (!spec.fifo && (spec.deduplicates_content || spec.deduplicates_by_group)) {
    return fail(ErrorCode::bad_input,
                concat("stream '", spec.name, "' is not a FIFO stream, and only those remove duplicates"),
                concat("omit 'deduplicate_content' and 'deduplicate_by_group', or create a stream whose name ends in ",
                       kFifoSuffix));
  }
  return {};
}

Result<void> check_dead_letters(const StreamSpec& spec) {
  if (spec.dead_letters == spec.name) {
    return fail(ErrorCode::bad_input, concat("stream '", spec.name, "' cannot be its own stream for dead letters"),
                "name another stream in 'dead_letters'");
  }
  if (spec.dead_letters.empty() && spec.max_receives > 0) {
    return fail(ErrorCode::bad_input, "'max_receives' requires 'dead_letters', the stream that messages are moved to",
                "set both, or set 'max_receives' to 0");
  }
  if (!spec.dead_letters.empty() && spec.max_receives == 0) {
    return fail(ErrorCode::bad_input,
                "'dead_letters' requires 'max_receives', the receives after which a message is moved",
                "set both, or set 'dead_letters' to an empty string");
  }
  if (!spec.dead_letters.empty() && spec.fifo != spec.dead_letters.ends_with(kFifoSuffix)) {
    return fail(ErrorCode::bad_input,
                concat("'dead_letters' of ",
                       spec.fifo ? "a FIFO stream must be a FIFO stream" : "this stream cannot be a FIFO stream",
                       ", and '", spec.dead_letters, "' is ", spec.fifo ? "not" : "one"),
                "name a stream of the same kind");
  }
  return {};
}

}  // namespace

bool is_stream_name(std::string_view name) {
  if (name.size() > kLongestName) return false;
  if (name.ends_with(kFifoSuffix)) name.remove_suffix(kFifoSuffix.size());
  return !name.empty() &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

Result<void> check_stream_name(std::string_view name) {
  if (is_stream_name(name)) return {};
  return fail(ErrorCode::bad_input, concat("invalid stream name '", utf8(name), "'"),
              concat("use letters, digits, '_' and '-', at most ", kLongestName,
                     " characters; the name of a FIFO stream ends in ", kFifoSuffix));
}

Error no_such_stream(std::string_view name) {
  return {ErrorCode::not_found, concat("stream '", utf8(name), "' not found"),
          "list streams with 'drover stream list', or create it with 'drover stream create'"};
}

json::object stream_to_json(const StreamView& view) {
  const Stream& it = view.stream;
  const auto time_or_null = [](std::int64_t ms) { return ms == 0 ? json::value(nullptr) : json::value(ms); };
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? json::value(nullptr) : json::value(utf8(text));
  };
  return {{"name", it.name},
          {"fifo", it.fifo},
          {"visibility_ms", it.visibility_ms},
          {"delay_ms", it.delay_ms},
          {"retention_ms", it.retention_ms},
          {"wait_ms", it.receive_wait_ms},
          {"max_message_bytes", it.max_message_bytes},
          {"max_receives", it.max_receives},
          {"dead_letters", text_or_null(it.dead_letters)},
          {"deduplicate_content", it.deduplicates_content},
          {"deduplicate_by_group", it.deduplicates_by_group},
          {"owner", text_or_null(it.owner)},
          {"version", it.version},
          {"created_ms", it.created_ms},
          {"changed_ms", it.changed_ms},
          {"purged_ms", time_or_null(it.purged_ms)},
          {"counts", json::object{{"visible", view.visible}, {"in_flight", view.in_flight}, {"delayed", view.delayed}}},
          {"oldest_ms", time_or_null(view.oldest_ms)},
          {"receivers", view.receivers}};
}

Result<StreamSettings> stream_from_json(std::string_view text, StreamSpec spec) {
  std::optional<std::uint64_t> version;
  std::optional<bool> said_fifo;
  BodyFields fields;
  fields.add("fifo", [&](const json::value& value) -> std::string {
    if (!value.is_bool()) return "must be true or false";
    said_fifo = value.get_bool();
    return {};
  });
  fields.add("visibility", time_within(0, kLongestVisibilityMs, "0s to 12h", spec.visibility_ms));
  fields.add("delay", time_within(0, kLongestDelayMs, "0s to 15m", spec.delay_ms));
  fields.add("retention", time_within(kShortestRetentionMs, kLongestRetentionMs, "1m to 14d", spec.retention_ms));
  fields.add("wait", time_within(0, kLongestReceiveWaitMs, "0s to 20s", spec.receive_wait_ms));
  fields.add("max_message", message_limit(spec.max_message_bytes));
  fields.add("max_receives", BodyFields::whole(0, kMostReceivesBeforeDead, spec.max_receives));
  fields.add("dead_letters", dead_letters(spec.dead_letters));
  fields.add("deduplicate_content", BodyFields::flag(spec.deduplicates_content));
  fields.add("deduplicate_by_group", BodyFields::flag(spec.deduplicates_by_group));
  fields.add("version", BodyFields::whole(0, std::numeric_limits<std::int64_t>::max(), version));
  if (auto read = fields.read(text, "the stream"); !read) return pass(read);
  spec.fifo = spec.name.ends_with(kFifoSuffix);
  if (auto checked = check_fifo(spec, said_fifo); !checked) return pass(checked);
  if (auto checked = check_dead_letters(spec); !checked) return pass(checked);
  return StreamSettings{std::move(spec), version};
}

std::string receipt_text(const Receipt& receipt) {
  return concat(receipt.stream.value, "-", receipt.message.value, "-", receipt.receive);
}

std::optional<Receipt> receipt_from(std::string_view text) {
  const std::size_t first = text.find('-');
  const std::size_t second = first == std::string_view::npos ? first : text.find('-', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  const auto stream = parse_number(text.substr(0, first));
  const auto message = parse_number(text.substr(first + 1, second - first - 1));
  const auto receive = parse_number(text.substr(second + 1));
  if (!stream || !message || !receive) return std::nullopt;
  return Receipt{StreamId{*stream}, MessageNumber{*message}, *receive};
}

std::string_view to_string(ReceiptOutcome outcome) {
  switch (outcome) {
    case ReceiptOutcome::done: return "done";
    case ReceiptOutcome::foreign: return "foreign";
    case ReceiptOutcome::expired: return "expired";
    case ReceiptOutcome::gone: return "gone";
    case ReceiptOutcome::not_in_flight: return "not_in_flight";
    case ReceiptOutcome::too_long: return "too_long";
  }
  return "unknown";
}

}  // namespace drover
