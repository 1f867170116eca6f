// drover stream receive: prints messages of a stream, and deletes those that were printed if that is wanted. What could
// not be printed stays in the stream.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/stream_parts.h"
#include "core/streams/stream_records.h"
#include "screen/plain_text.h"
#include "wire/base64.h"

namespace drover {
namespace json = boost::json;
namespace {

struct StreamReceiveFlags : StreamFlags {
  std::uint64_t max = 1;
  std::string wait;
  std::string visibility;
  bool deletes = false;
  bool follow = false;
};

/// Between a message that is printed and its delete nobody ends the program.
class SignalsHeld {
 public:
  SignalsHeld() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_{};
};

std::string body_in(const json::value& message) {
  if (!message.is_object() || !message.get_object().contains("body_b64")) return text_in(message, "body");
  return from_base64(text_in(message, "body_b64")).value_or("");
}

void print_message(const json::value& message, bool as_json) {
  if (as_json) {
    show("{}\n", json::serialize(message));
  } else if (isatty(STDOUT_FILENO) == 1) {
    show("{}\n", plain_text(body_in(message)));
  } else {
    print_text(stdout, body_in(message) + "\n");
  }
}

json::object receipts_of(const json::array& messages) {
  json::array receipts;
  for (const json::value& it : messages) receipts.emplace_back(text_in(it, "receipt"));
  return {{"receipts", std::move(receipts)}};
}

/// Nobody reads the output: others may have the messages at once.
void give_back(ServerClient& client, const StreamReceiveFlags& flags, const json::array& messages) {
  json::object body = receipts_of(messages);
  body["visibility"] = 0;
  static_cast<void>(client.post(stream_path(flags.stream) + "/visibility", body));
}

Result<void> delete_all(ServerClient& client, const StreamReceiveFlags& flags, const json::array& messages) {
  // A delete that is made twice has been made once.
  auto answer = client.post(stream_path(flags.stream) + "/delete", receipts_of(messages), Repeat::allowed);
  if (!answer) {
    return fail(
        answer.error().code,
        fmt::format("{} printed, but not deleted: {}", plural(messages.size(), "message"), answer.error().message),
        "they will be received again when their visibility timeout ends");
  }
  std::uint64_t kept = 0;
  for (const json::value& it : list_in(*answer, "outcomes")) kept += text_in(it, "outcome") == "done" ? 0 : 1;
  if (kept > 0 && !flags.common.quiet) {
    print_notice(fmt::format("{} not deleted: their visibility timeout ended; use a longer --visibility",
                             plural(kept, "message")));
  }
  return {};
}

/// Prints them all and deletes them if that is wanted. False: nobody reads the output.
Result<bool> hand_out(ServerClient& client, const StreamReceiveFlags& flags, const json::array& messages) {
  const SignalsHeld held;
  for (const json::value& it : messages) print_message(it, flags.common.json);
  if (!flush_output() || lost_output_error != 0) {
    give_back(client, flags, messages);
    return false;
  }
  if (!flags.deletes) return true;
  if (auto deleted = delete_all(client, flags, messages); !deleted) return pass(deleted);
  return true;
}

json::object request(const StreamReceiveFlags& flags, std::uint64_t received, std::uint64_t most) {
  json::object body{{"max", std::min<std::uint64_t>(most - received, kMostReceivedAtOnce)}};
  if (!flags.visibility.empty()) body["visibility"] = flags.visibility;
  if (flags.follow && flags.wait.empty()) {
    body["wait"] = static_cast<double>(kLongestReceiveWaitMs) / 1000;
  } else if (!flags.follow && received > 0) {
    body["wait"] = 0;  // for the first message alone
  } else if (!flags.wait.empty()) {
    body["wait"] = flags.wait;
  }
  return body;
}

Result<int> receive(ServerClient& client, const StreamReceiveFlags& flags, const Verb& verb) {
  if (flags.follow && !flags.deletes) {
    return fail(ErrorCode::bad_input, "--follow requires --delete: messages that are not deleted are received again",
                "add --delete, or omit --follow");
  }
  const bool is_endless = flags.follow && verb.count("--max") == 0;
  const std::uint64_t most = is_endless ? std::numeric_limits<std::uint64_t>::max() : flags.max;
  std::uint64_t received = 0;
  while (received < most) {
    auto answer = client.post(stream_path(flags.stream) + "/receive", request(flags, received, most));
    if (!answer) return std::unexpected(in_words_of_flags(answer.error()));
    const json::array& messages = list_in(*answer, "messages");
    if (messages.empty() && !flags.follow) break;
    if (messages.empty()) continue;
    received += messages.size();
    auto printed = hand_out(client, flags, messages);
    if (!printed) return pass(printed);
    if (!*printed) return kSomeDidNot;
  }
  const bool is_for_people = !flags.common.json && !flags.common.quiet;
  if (received == 0 && is_for_people) print_notice(fmt::format("stream '{}' has no visible messages", flags.stream));
  if (received > 0 && !flags.deletes && is_for_people && isatty(STDOUT_FILENO) == 1) {
    print_notice("the messages stay in the stream and will be received again; use --delete to delete them");
  }
  return received > 0 ? kAllSucceeded : kSomeDidNot;
}

}  // namespace

void add_stream_receive(const Verb& parent, Invocation& invocation) {
  auto flags = std::make_shared<StreamReceiveFlags>();
  Verb verb = add_server_verb(
      parent, "receive", "Receive messages from a stream and print their bodies, one per line",
      "drover stream receive orders --max 100 --delete\n"
      "  drover stream receive orders --wait 1s --json\n\n"
      "A received message is hidden from other receivers until its visibility timeout ends, and is then received "
      "again, unless it was deleted. --delete deletes messages after they were printed; messages that could not be "
      "printed are not deleted.\n\n"
      "Exit status: 0 if messages were received, 1 if there were none or the output could not be written, 2 on "
      "invalid usage or an unknown stream.",
      *flags, invocation,
      [flags, parent](ServerClient& client) { return receive(client, *flags, parent.part("receive")); });
  verb.add_option("stream", flags->stream, "Name of the stream").type_name("STREAM").required();
  verb.add_option("--max", flags->max, "Maximum number of messages to receive (default: 1; with --follow, no limit)")
      .type_name("N")
      .positive();
  verb.add_option("--wait", flags->wait,
                  "How long to wait for the first message, 0s to 20s (default: the setting of the stream)")
      .type_name("TIME");
  verb.add_option("--visibility", flags->visibility,
                  "How long the messages are hidden from others, 0s to 12h (default: the setting of the stream)")
      .type_name("TIME");
  verb.add_flag("--delete", flags->deletes, "Delete messages after they were printed");
  verb.add_flag("-f,--follow", flags->follow, "Keep receiving until Ctrl-C; requires --delete");
}

}  // namespace drover
