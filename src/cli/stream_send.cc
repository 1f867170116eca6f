// drover stream send: messages from the command line, a file or standard input go to a stream, many with each request.
// A request is accepted as a whole or not at all, and one follows another: what was acknowledged is always the
// beginning of the list.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cmath>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/message_reader.h"
#include "cli/print.h"
#include "cli/send_progress.h"
#include "cli/stream_parts.h"
#include "worker/stop_on_signal.h"

namespace drover {
namespace json = boost::json;
namespace {

struct StreamSendFlags : StreamFlags {
  std::vector<std::string> messages;
  std::string file;
  bool json_lines = false;
  std::string group;
  std::string delay;
  std::uint64_t skip = 0;
};

struct Sent {
  std::uint64_t messages = 0;
  std::uint64_t duplicates = 0;
};

Result<ItemSource> source_of(const StreamSendFlags& flags, const Invocation& invocation) {
  std::vector<std::string> words = flags.messages;
  words.insert(words.end(), invocation.after_dashes.begin(), invocation.after_dashes.end());
  if (!words.empty() && !flags.file.empty()) {
    return fail(ErrorCode::bad_input, "messages are given both as arguments and with --file",
                "omit --file, or send the arguments with a command of their own");
  }
  if (!words.empty()) return WordsSource{std::move(words)};
  if (flags.file.empty() && isatty(STDIN_FILENO) == 1) {
    return fail(ErrorCode::bad_input, "no messages given, and standard input is a terminal",
                "name messages after the stream, or use --file FILE; --file - reads standard input in any case");
  }
  return LinesSource{.path = flags.file.empty() ? "-" : flags.file, .end = '\n', .noun = "message", .takes_nul = true};
}

/// Of a file. 0: it is not known, or nobody can tell.
std::uint64_t bytes_in(const ItemSource& source) {
  const auto* lines = std::get_if<LinesSource>(&source);
  if (lines == nullptr || lines->path == "-") return 0;
  std::error_code error;
  const auto size = std::filesystem::file_size(lines->path, error);
  return error ? 0 : size;
}

/// What messages are checked against, as far as the server tells it.
StreamSpec spec_in(const json::value& stream) {
  StreamSpec out;
  out.name = text_in(stream, "name");
  out.fifo = flag_in(stream, "fifo");
  out.max_message_bytes = number_in(stream, "max_message_bytes");
  out.deduplicates_content = flag_in(stream, "deduplicate_content");
  return out;
}

std::string body_of(const std::vector<MessageDraft>& messages) {
  std::string out = "[";
  for (const MessageDraft& it : messages) {
    if (out.size() > 1) out += ",";
    out += json::serialize(message_to_json(it));
  }
  return out + "]";
}

Sent counted(const json::value& answer) {
  Sent out;
  for (const json::value& it : list_in(answer, "messages")) {
    ++out.messages;
    if (flag_in(it, "duplicate")) ++out.duplicates;
  }
  return out;
}

/// How to continue after the first `done` messages of the source.
std::string how_to_continue(std::uint64_t done) {
  if (done == 0) return "no message was sent";
  return fmt::format("{} acknowledged; continue with --skip {}", plural(done, "message"), done);
}

Error with_progress(Error error, std::uint64_t done) {
  error.next = concat(error.next, error.next.empty() ? "" : "; ", how_to_continue(done));
  return error;
}

/// The server did not accept messages `first` to `last`, or it is not known whether it did.
Error not_sent(const Error& error, const StreamSendFlags& flags, std::uint64_t first, std::uint64_t last) {
  const std::string which = first == last ? fmt::format("message {}", format_count(first))
                                          : fmt::format("messages {} to {}", format_count(first), format_count(last));
  Error out{error.code, fmt::format("cannot send {} to stream '{}': {}", which, flags.stream, error.message),
            error.next};
  if (may_answer_later(error)) {
    out.next = concat(out.next, out.next.empty() ? "" : "; ", "the server may have accepted ", which, " nevertheless");
  }
  return with_progress(std::move(out), first - 1);
}

/// Sends all there is. `sent` is what was acknowledged, whatever the outcome.
Result<void> send_all(ServerClient& client, const StreamSendFlags& flags, MessageReader& reader, bool fifo,
                      SendProgress& progress, Sent& sent) {
  // A FIFO stream drops what comes twice.
  const Repeat repeat = fifo ? Repeat::allowed : Repeat::never;
  while (true) {
    auto batch = reader.next();
    const std::uint64_t done = flags.skip + sent.messages;
    if (!batch) return std::unexpected(with_progress(batch.error(), done));
    if (batch->messages.empty()) return {};
    auto answer = client.post_text(stream_path(flags.stream) + "/messages", body_of(batch->messages), repeat);
    if (!answer) return std::unexpected(not_sent(answer.error(), flags, done + 1, done + batch->messages.size()));
    const Sent now = counted(*answer);
    sent.messages += now.messages;
    sent.duplicates += now.duplicates;
    progress.note(sent.messages, batch->read_bytes, batch->has_more);
  }
}

void tell_sent(const StreamSendFlags& flags, const Sent& sent, double seconds) {
  const json::object summary{{"stream", flags.stream},
                             {"sent", sent.messages},
                             {"duplicates", sent.duplicates},
                             {"seconds", std::round(seconds * 1000) / 1000}};
  std::string sentence = fmt::format("{} sent to stream '{}'", plural(sent.messages, "message"), flags.stream);
  if (sent.duplicates > 0)
    sentence += fmt::format(", {} of them duplicates that were dropped", format_count(sent.duplicates));
  tell(flags.common, summary, sentence);
}

Result<int> send(ServerClient& client, const StreamSendFlags& flags, const Invocation& invocation) {
  auto source = source_of(flags, invocation);
  if (!source) return pass(source);
  MessageDraft like;
  like.group = flags.group;
  if (!flags.delay.empty()) {
    auto delay_ms = parse_duration_ms(flags.delay);
    if (!delay_ms) {
      return fail(ErrorCode::bad_input, fmt::format("--delay '{}' is not a time", flags.delay),
                  "use a time such as 30s, at most 15m");
    }
    like.delay_ms = *delay_ms;
  }
  auto stream = client.get(stream_path(flags.stream));
  if (!stream) return pass(stream);
  const StreamSpec spec = spec_in(*stream);
  SendProgress progress(flags.common, flags.stream, bytes_in(*source));
  const StopOnSignal signals;
  MessageReader reader({.source = std::move(*source),
                        .json_lines = flags.json_lines,
                        .like = std::move(like),
                        .skip = flags.skip,
                        .stream = spec},
                       signals.token());
  Sent sent;
  auto done = send_all(client, flags, reader, spec.fifo, progress, sent);
  progress.clear();
  if (done || sent.messages > 0 || flags.common.json) tell_sent(flags, sent, progress.seconds());
  if (signals.token().stop_requested()) {
    if (!flags.common.quiet) print_notice("interrupted: " + how_to_continue(flags.skip + sent.messages));
    return kInterrupted;
  }
  if (!done) return pass(done);
  return kAllSucceeded;
}

}  // namespace

void add_stream_send(const Verb& parent, Invocation& invocation) {
  auto flags = std::make_shared<StreamSendFlags>();
  Verb verb = add_server_verb(
      parent, "send", "Send messages to a stream",
      "drover stream send orders 'first order' 'second order'\n"
      "  drover stream send orders --file urls.txt\n"
      "  echo '{\"body\": \"hello\", \"attributes\": {\"colour\": \"red\"}}' | drover stream send orders "
      "--json-lines\n\n"
      "Without messages or --file, standard input is read. Empty lines are skipped. If a send fails, the error says "
      "how many messages were acknowledged; --skip continues after them.\n\n"
      "Exit status: 0 if all messages were acknowledged, 1 or 2 if not, 130 if interrupted.",
      *flags, invocation, [flags, &invocation](ServerClient& client) { return send(client, *flags, invocation); });
  verb.add_option("stream", flags->stream, "Name of the stream").type_name("STREAM").required();
  verb.add_option("message", flags->messages, "Body of a message; repeatable").type_name("MESSAGE");
  verb.add_option("--file", flags->file, "Send each line of this file as a message; - is standard input")
      .type_name("FILE");
  verb.add_flag("--json-lines", flags->json_lines,
                "Each message is a JSON object: body or body_b64, attributes, delay, group, deduplication");
  verb.add_option("--group", flags->group, "In a FIFO stream, group of messages that do not name one")
      .type_name("GROUP");
  verb.add_option("--delay", flags->delay, "Delay before the messages can be received, at most 15m").type_name("TIME");
  verb.add_option("--skip", flags->skip, "Skip the first N messages, such as those that were sent before")
      .type_name("N");
}

}  // namespace drover
