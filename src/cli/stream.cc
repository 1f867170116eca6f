// drover stream: a server's queues of messages; which there are, how each behaves, and how full it is.
#include <fmt/format.h>

#include <array>
#include <boost/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/stream_parts.h"
#include "cli/table.h"
#include "core/streams/stream_records.h"
#include "engine/system_clock.h"
#include "wire/stream_json.h"

namespace drover {
namespace json = boost::json;
namespace {

struct StreamVerbFlags : StreamFlags {
  bool fifo = false;
  // As they were typed: the server reads them.
  std::string visibility;
  std::string delay;
  std::string retention;
  std::string wait;
  std::string max_message;
  std::uint64_t max_receives = 0;
  std::string dead_letters;
  bool deduplicate_content = false;
  bool no_deduplicate_content = false;
  bool deduplicate_by_group = false;
  bool no_deduplicate_by_group = false;
};

/// "30s", "1h30m", as it is typed.
std::string duration_text(std::uint64_t ms) {
  constexpr std::array<std::pair<std::uint64_t, std::string_view>, 5> kUnits{
      {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}}};
  std::string out;
  for (const auto& [unit_ms, name] : kUnits) {
    if (ms >= unit_ms) out += concat(ms / unit_ms, name);
    ms %= unit_ms;
  }
  return out.empty() ? "0s" : out;
}

/// "4 min 10 s"
std::string age_text(const json::value& stream) {
  const auto oldest_ms = static_cast<std::int64_t>(number_in(stream, "oldest_ms"));
  return format_duration_us(std::max<std::int64_t>(SystemWallClock().epoch_ms() - oldest_ms, 0) * 1000);
}

std::string counts_text(const json::value& stream) {
  const json::value counts = object_in(stream, "counts");
  std::string out =
      fmt::format("{} visible, {} in flight, {} delayed", plural(number_in(counts, "visible"), "message"),
                  format_count(number_in(counts, "in_flight")), format_count(number_in(counts, "delayed")));
  if (number_in(stream, "oldest_ms") > 0) out += fmt::format("; the oldest was sent {} ago", age_text(stream));
  return out;
}

std::string described(const json::value& stream) {
  std::string out = fmt::format("stream '{}': {}", text_in(stream, "name"), counts_text(stream));
  const auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("\n  {:<13} {}", name, value);
  };
  const bool fifo = flag_in(stream, "fifo");
  line("kind", fifo ? "FIFO: messages of a group are received in order, and duplicates are dropped"
                    : "standard: messages are received in about the order in which they were sent");
  line("visibility", fmt::format("{}; a received message is hidden for this long",
                                 duration_text(number_in(stream, "visibility_ms"))));
  line("delay", duration_text(number_in(stream, "delay_ms")));
  line("retention", fmt::format("{}; older messages are deleted", duration_text(number_in(stream, "retention_ms"))));
  line("wait",
       fmt::format("{} for messages, if the receiver does not say", duration_text(number_in(stream, "wait_ms"))));
  line("max message", format_size(number_in(stream, "max_message_bytes")));
  const std::uint64_t max_receives = number_in(stream, "max_receives");
  line("dead letters", max_receives == 0 ? "none"
                                         : fmt::format("moved to '{}' after {}", text_in(stream, "dead_letters"),
                                                       plural(max_receives, "receive")));
  if (fifo) {
    line("duplicates",
         fmt::format("found by {}, {}",
                     flag_in(stream, "deduplicate_content") ? "deduplication id or content" : "deduplication id",
                     flag_in(stream, "deduplicate_by_group") ? "within a group" : "in the whole stream"));
  }
  line("receivers", fmt::format("{} waiting", format_count(number_in(stream, "receivers"))));
  line("created", fmt::format("{} by {}", local_time(number_in(stream, "created_ms")), text_in(stream, "owner")));
  return out;
}

json::object settings(const StreamVerbFlags& flags, const Verb& verb) {
  json::object body;
  const auto take = [&](const char* flag, const char* field, const json::value& value) {
    if (verb.count(flag) > 0) body[field] = value;
  };
  take("--visibility", "visibility", json::value(flags.visibility));
  take("--delay", "delay", json::value(flags.delay));
  take("--retention", "retention", json::value(flags.retention));
  take("--wait", "wait", json::value(flags.wait));
  take("--max-message", "max_message", json::value(flags.max_message));
  take("--max-receives", "max_receives", flags.max_receives);
  take("--dead-letters", "dead_letters", json::value(flags.dead_letters));
  take("--deduplicate-content", "deduplicate_content", true);
  take("--no-deduplicate-content", "deduplicate_content", false);
  take("--deduplicate-by-group", "deduplicate_by_group", true);
  take("--no-deduplicate-by-group", "deduplicate_by_group", false);
  return body;
}

Result<int> list_streams(ServerClient& client, const StreamVerbFlags& flags) {
  json::array all;
  for (std::string after; true;) {
    auto page = client.get(concat("/api/v1/streams?limit=100&after=", url_escape(after)));
    if (!page) return pass(page);
    for (const json::value& it : list_in(*page, "streams")) all.push_back(it);
    after = text_in(*page, "next");
    if (after.empty()) break;
  }
  if (flags.common.json) {
    show("{}\n", json::serialize(json::object{{"streams", std::move(all)}}));
    return kAllSucceeded;
  }
  using enum Column::Align;
  Table table({{.title = "NAME", .cut = true},
               {.title = "VISIBLE", .align = right},
               {.title = "IN-FLIGHT", .align = right},
               {.title = "DELAYED", .align = right},
               {.title = "OLDEST", .align = right, .spare = 1},
               {.title = "RECEIVERS", .align = right, .spare = 2},
               {.title = "DEAD-LETTERS", .spare = 3}});
  for (const json::value& it : all) {
    const json::value counts = object_in(it, "counts");
    table.add({text_in(it, "name"), format_count(number_in(counts, "visible")),
               format_count(number_in(counts, "in_flight")), format_count(number_in(counts, "delayed")),
               number_in(it, "oldest_ms") == 0 ? "" : age_text(it), format_count(number_in(it, "receivers")),
               text_in(it, "dead_letters")});
  }
  table.print();
  return kAllSucceeded;
}

Result<int> show_stream(ServerClient& client, const StreamVerbFlags& flags) {
  auto answer = client.get(stream_path(flags.stream));
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, described(*answer));
}

Result<int> create_stream(ServerClient& client, const StreamVerbFlags& flags, const Verb& verb) {
  json::object body = settings(flags, verb);
  body["version"] = 0;  // there must be none
  if (flags.fifo) body["fifo"] = true;
  auto answer = client.put(stream_path(flags.stream), body);
  if (answer) return tell(flags.common, *answer, concat("new ", described(*answer)));
  if (answer.error().code != ErrorCode::conflict) return std::unexpected(in_words_of_flags(answer.error()));
  return fail(
      ErrorCode::conflict, fmt::format("stream '{}' already exists", flags.stream),
      fmt::format("show it with 'drover stream show {0}', or change it with 'drover stream set {0}'", flags.stream));
}

// Of one that is there: a name that was mistyped must not become a new one.
Result<int> set_stream(ServerClient& client, const StreamVerbFlags& flags, const Verb& verb) {
  const json::object body = settings(flags, verb);
  if (auto now = client.get(stream_path(flags.stream)); !now) return pass(now);
  if (body.empty()) {
    return fail(ErrorCode::bad_input, fmt::format("nothing to change in stream '{}'", flags.stream),
                "see 'drover stream set --help' for the settings");
  }
  auto answer = client.put(stream_path(flags.stream), body);
  if (!answer) return std::unexpected(in_words_of_flags(answer.error()));
  return tell(flags.common, *answer, described(*answer));
}

Result<int> remove_stream(ServerClient& client, const StreamVerbFlags& flags) {
  auto answer = client.remove(stream_path(flags.stream));
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, fmt::format("stream '{}' is deleted, with its messages", flags.stream));
}

Result<int> purge_stream(ServerClient& client, const StreamVerbFlags& flags) {
  auto answer = client.post(stream_path(flags.stream) + "/purge", json::object());
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, fmt::format("all messages of stream '{}' are deleted", flags.stream));
}

void add_settings(const Verb& verb, StreamVerbFlags& flags) {
  const auto time = [&](const char* name, std::string& into, const char* help) {
    verb.add_option(name, into, help).type_name("TIME");
  };
  time("--visibility", flags.visibility,
       "How long a received message is hidden from other receivers, 0s to 12h (default: 30s)");
  time("--delay", flags.delay, "Delay before a new message can be received, 0s to 15m (default: 0s)");
  time("--retention", flags.retention, "How long messages are kept, 1m to 14d (default: 4d)");
  time("--wait", flags.wait, "How long a receive waits for messages if it does not say, 0s to 20s (default: 0s)");
  verb.add_option("--max-message", flags.max_message, "Maximum size of a message, 1KiB to 1MiB (default: 1MiB)")
      .type_name("SIZE");
  verb.add_option("--max-receives", flags.max_receives,
                  "Number of receives after which a message is moved to --dead-letters; 0 for never (default: 0)")
      .type_name("N")
      .range(0, static_cast<int>(kMostReceivesBeforeDead));
  verb.add_option("--dead-letters", flags.dead_letters, "Stream for messages that were received too often; '' for none")
      .type_name("STREAM");
  verb.add_flag("--deduplicate-content", flags.deduplicate_content,
                "In a FIFO stream, treat messages with the same body as duplicates if they have no deduplication id");
  verb.add_flag("--no-deduplicate-content", flags.no_deduplicate_content,
                "In a FIFO stream, require a deduplication id for each message (default)")
      .excludes("--deduplicate-content");
  verb.add_flag("--deduplicate-by-group", flags.deduplicate_by_group,
                "In a FIFO stream, look for duplicates only within a group");
  verb.add_flag("--no-deduplicate-by-group", flags.no_deduplicate_by_group,
                "In a FIFO stream, look for duplicates in the whole stream (default)")
      .excludes("--deduplicate-by-group");
}

}  // namespace

std::string stream_path(const std::string& stream) {
  return "/api/v1/streams/" + url_escape(stream);
}

Error in_words_of_flags(Error error) {
  constexpr std::array kFields{
      "fifo",        "visibility",   "delay",        "retention",           "wait",
      "max_message", "max_receives", "dead_letters", "deduplicate_content", "deduplicate_by_group"};
  const auto replace_all = [](std::string& text, const std::string& what, const std::string& with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) {
      text.replace(at, what.size(), with);
    }
  };
  for (const std::string_view field : kFields) {
    std::string flag = concat("--", field);
    std::ranges::replace(flag, '_', '-');
    for (std::string* text : {&error.message, &error.next}) {
      replace_all(*text, concat("field '", field, "'"), flag);
      replace_all(*text, concat("'", field, "'"), flag);
    }
  }
  if (error.next.starts_with("send another value")) error.next = "use another value, or omit the flag";
  return error;
}

void add_stream(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<StreamVerbFlags>();
  Verb verb =
      app.add_subcommand("stream", "Create streams of messages on a server, send to them and receive from them");
  verb.require_subcommand(1);
  verb.footer(
      "Examples:\n  drover stream create events --visibility 2m\n  drover stream send orders --file urls.txt\n"
      "  drover stream receive orders --max 10 --delete");
  const auto add = [&](const char* name, const char* help, const char* example, auto ask) {
    return add_server_verb(verb, name, help, example, *flags, invocation,
                           [flags, ask](ServerClient& client) { return ask(client, *flags); });
  };
  const auto about_one = [&](Verb it) {
    it.add_option("stream", flags->stream, "Name of the stream").type_name("STREAM").required();
  };
  Verb creating = add_server_verb(
      verb, "create", "Create a stream",
      "drover stream create uploads\n"
      "  drover stream create tasks --visibility 5m --max-receives 5 --dead-letters failed\n"
      "  drover stream create payments.fifo --deduplicate-content",
      *flags, invocation,
      [flags, verb](ServerClient& client) { return create_stream(client, *flags, verb.part("create")); });
  about_one(creating);
  creating.add_flag("--fifo", flags->fifo,
                    "Create a FIFO stream; its name must end in .fifo, and a name that does creates one anyway");
  add_settings(creating, *flags);
  add("list", "List streams and how full they are", "drover stream list", list_streams);
  about_one(add("show", "Show a stream: its messages and settings", "drover stream show orders", show_stream));
  Verb setting = add_server_verb(
      verb, "set", "Change the settings of a stream",
      "drover stream set orders --visibility 5m\n"
      "  drover stream set orders --max-receives 5 --dead-letters failed",
      *flags, invocation, [flags, verb](ServerClient& client) { return set_stream(client, *flags, verb.part("set")); });
  about_one(setting);
  add_settings(setting, *flags);
  about_one(add("delete", "Delete a stream with its messages", "drover stream delete old", remove_stream));
  about_one(add("purge", "Delete all messages of a stream", "drover stream purge orders", purge_stream));
  add_stream_send(verb, invocation);
  add_stream_receive(verb, invocation);
}

}  // namespace drover
