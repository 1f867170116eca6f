// drover logs, of a server's job.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cerrno>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/follow_log.h"
#include "cli/log_printer.h"
#include "cli/print.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kFailuresPerPage = 1000;

Result<void> write_out(std::string_view bytes) {
  if (print_text(stdout, bytes)) return {};
  return std::unexpected(errno_error(errno, "standard output"));
}

/// The lines that a server found, as they come: shown as those of a run on this machine.
class FoundLines {
 public:
  explicit FoundLines(const CommonFlags& common) : printer_({.json = common.json, .times = false, .items = true}) {}

  Result<void> take(std::string_view piece) {
    rest_ += piece;
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      if (auto shown = show_one(std::string_view(rest_).substr(begin, end - begin)); !shown) return shown;
      begin = end + 1;
    }
    rest_.erase(0, begin);
    return {};
  }

  std::uint64_t count() const { return count_; }

 private:
  Result<void> show_one(std::string_view line) {
    json::error_code error;
    const json::value hit = json::parse(line, error);
    if (error || !hit.is_object()) return fail(ErrorCode::io, "the server's response is not JSON");
    if (hit.as_object().contains("problem")) {
      const Error incomplete{ErrorCode::damaged, text_in(hit, "problem"), text_in(hit, "next")};
      printer_.print_problem(incomplete);
      return std::unexpected(incomplete);
    }
    ++count_;
    const std::string shown = text_in(hit, "text");
    const bool is_error = text_in(hit, "stream") == to_string(LogStream::err);
    printer_.print(SearchHit{.key = {{},
                                     ItemIndex{number_in(hit, "item")},
                                     AttemptNumber{static_cast<std::uint32_t>(number_in(hit, "attempt"))}},
                             .stream = is_error ? LogStream::err : LogStream::out,
                             .time_ms = static_cast<std::int64_t>(number_in(hit, "time_ms")),
                             .line = number_in(hit, "line"),
                             .text = shown});
    return {};
  }

  LogPrinter printer_;
  std::string rest_;
  std::uint64_t count_ = 0;
};

/// What one item printed, line by line, behind its number.
class ItemLines {
 public:
  explicit ItemLines(std::uint64_t item) : item_(item) {}

  Result<void> take(std::string_view piece) {
    rest_ += piece;
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      if (auto printed = print(std::string_view(rest_).substr(begin, end - begin)); !printed) return printed;
      begin = end + 1;
    }
    rest_.erase(0, begin);
    return {};
  }
  Result<void> finish() { return rest_.empty() ? Result<void>() : print(rest_); }

 private:
  Result<void> print(std::string_view line) const { return write_out(fmt::format("{}: {}\n", item_, line)); }

  const std::uint64_t item_;
  std::string rest_;
};

std::string log_path(const CommonFlags& common, const std::string& job, std::uint64_t item, std::uint64_t attempt,
                     const ServerLogs& wanted) {
  return job_path(job, fmt::format("/items/{}/log?attempt={}&tail={}{}{}", item, attempt, wanted.tail,
                                   wanted.only_stderr ? "&stream=stderr" : "", common.json ? "&form=json" : ""));
}

/// Why there is nothing to show of an item, if there is something to say about it.
Result<void> explain_silence(ServerClient& client, const std::string& job, std::uint64_t item) {
  auto answer = client.get(job_path(job, fmt::format("/items/{}", item)));
  if (!answer) return pass(answer);
  const std::string state = text_in(*answer, "state");
  const json::array& history = list_in(*answer, "history");
  if (history.empty() && state != "running") {
    print_notice(
        fmt::format("item {} has printed nothing: it is {} and was never started; to see why: drover why {}:{}", item,
                    state, job, item));
  } else if (!history.empty() && text_in(history.back(), "ending") != "exited") {
    const std::string reason = text_in(history.back(), "reason");
    print_notice(fmt::format("item {} has printed nothing: {}", item,
                             reason.empty() ? text_in(history.back(), "ending") : reason));
  }
  return {};
}

Result<void> print_item(ServerClient& client, const CommonFlags& common, const std::string& job, std::uint64_t item,
                        const ServerLogs& wanted) {
  std::uint64_t bytes = 0;
  auto done = client.stream(log_path(common, job, item, wanted.attempt, wanted), [&](std::string_view piece) {
    bytes += piece.size();
    return write_out(piece);
  });
  if (!done || bytes > 0 || common.quiet || wanted.only_stderr) return done;
  flush_output();
  return explain_silence(client, job, item);
}

/// The last attempt of every item that failed, item after item.
Result<void> print_failed(ServerClient& client, const CommonFlags& common, const std::string& job,
                          const ServerLogs& wanted) {
  std::uint64_t from = 0;
  while (true) {
    auto page = client.get(job_path(job, fmt::format("/items?state=failed&from={}&limit={}", from, kFailuresPerPage)));
    if (!page) return pass(page);
    for (const json::value& it : list_in(*page, "items")) {
      const auto item = number_in(it, "index");
      const auto attempt = number_in(json::value(object_in(it, "last")), "attempt");
      ItemLines lines(item);
      auto done = client.stream(log_path(common, job, item, attempt, wanted), [&](std::string_view piece) {
        return common.json ? write_out(piece) : lines.take(piece);
      });
      if (done) done = lines.finish();
      if (!done) return done;
    }
    from = number_in(*page, "next");
    if (from == 0) return {};
  }
}

Result<void> follow_item(ServerClient& client, const CommonFlags& common, const JobReference& which,
                         const ServerLogs& wanted) {
  if (common.json) {
    return fail(ErrorCode::bad_input, "--follow cannot be combined with --json for a job on a server",
                "omit --json or --follow");
  }
  if (which.item.empty()) {
    return fail(ErrorCode::bad_input, "for a job on a server, --follow requires an item",
                fmt::format("name the item: drover logs {}:0 --follow", which.job));
  }
  // By its id: another job may be given the same name meanwhile.
  auto job = client.get(job_path(which.job));
  if (!job) return pass(job);
  return follow_log(client, {.job = text_in(*job, "id"),
                             .item = which.item,
                             .attempt = wanted.attempt,
                             .has_tail = wanted.has_tail,
                             .tail = wanted.tail,
                             .only_stderr = wanted.only_stderr,
                             .quiet = common.quiet});
}

}  // namespace

Result<int> server_logs(const CommonFlags& common, const ServerFlags& server, const ServerLogs& wanted) {
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  auto which = job_and_item(*client, wanted.reference);
  if (!which) return pass(which);
  if (!which->item.empty() && wanted.failed) {
    return fail(ErrorCode::bad_input, "--failed cannot be combined with an item", "omit --failed or the item");
  }
  Result<void> done;
  if (wanted.follow) {
    done = follow_item(*client, common, *which, wanted);
  } else if (!wanted.grep.empty()) {
    FoundLines lines(common);
    done = client->stream(
        job_path(which->job, fmt::format("/search?grep={}&limit=1000000{}{}", url_escape(wanted.grep),
                                         wanted.ignore_case ? "&ignore_case=1" : "", wanted.failed ? "&failed=1" : "")),
        [&](std::string_view piece) { return lines.take(piece); });
    if (!done) return pass(done);
    flush_output();
    return lines.count() > 0 ? kAllSucceeded : kSomeDidNot;
  } else if (wanted.failed) {
    done = print_failed(*client, common, which->job, wanted);
  } else if (which->item.empty()) {
    return fail(ErrorCode::bad_input, "an item is required",
                fmt::format("name the item: drover logs {}:0; or add --failed or --grep PATTERN", which->job));
  } else {
    done = print_item(*client, common, which->job, *parse_number(which->item), wanted);
  }
  if (!done) return pass(done);
  flush_output();
  return kAllSucceeded;
}

}  // namespace drover
