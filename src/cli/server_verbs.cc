#include "cli/server_verbs.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/follow_log.h"
#include "cli/log_printer.h"
#include "cli/print.h"
#include "screen/plain_text.h"

namespace drover {
namespace json = boost::json;
namespace {

std::string text(const json::value& object, const char* name) {
  const json::value& value = object.at(name);
  return value.is_string() ? std::string(value.get_string()) : "";
}

std::uint64_t number(const json::value& object, const char* name) {
  return object.at(name).to_number<std::uint64_t>();
}

std::string path_of(const std::string& job, const std::string& below = {}) {
  return fmt::format("/api/v1/jobs/{}{}", url_escape(job), below);
}

/// Without a reference: the newest job.
Result<std::string> chosen(ServerClient& client, const std::string& job) {
  if (!job.empty()) return job;
  auto newest = client.get("/api/v1/jobs?limit=1");
  if (!newest) return pass(newest);
  const json::array& jobs = newest->at("jobs").as_array();
  if (jobs.empty()) return fail(ErrorCode::not_found, "the server has no job yet", "submit one with 'drover submit'");
  return text(jobs.front(), "id");
}

/// JOB:ITEM in two; no item: the whole is the job.
std::pair<std::string, std::string> split_reference(const std::string& reference) {
  const std::size_t colon = reference.rfind(':');
  if (colon == std::string::npos) return {reference, ""};
  return {reference.substr(0, colon), reference.substr(colon + 1)};
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
    if (error || !hit.is_object()) return fail(ErrorCode::io, "the server's answer is not JSON");
    if (hit.as_object().contains("problem")) return fail(ErrorCode::io, text(hit, "problem"), text(hit, "next"));
    ++count_;
    const std::string shown = text(hit, "text");
    const bool is_error = text(hit, "stream") == to_string(LogStream::err);
    printer_.print(SearchHit{
        .key = {{}, ItemIndex{number(hit, "item")}, AttemptNumber{static_cast<std::uint32_t>(number(hit, "attempt"))}},
        .stream = is_error ? LogStream::err : LogStream::out,
        .time_ms = hit.at("time_ms").to_number<std::int64_t>(),
        .line = number(hit, "line"),
        .text = shown});
    return {};
  }

  LogPrinter printer_;
  std::string rest_;
  std::uint64_t count_ = 0;
};

/// How an attempt ended, in a few words.
std::string ending_words(const json::value& attempt) {
  const json::value& code = attempt.at("exit_code");
  if (code.is_number()) return fmt::format("exit code {}", code.to_number<std::int64_t>());
  const json::value& signal = attempt.at("signal");
  if (signal.is_number()) return fmt::format("signal {}", signal.to_number<std::int64_t>());
  return text(attempt, "ending");
}

void show_item(const std::string& job, const json::value& item) {
  const json::value* shown = item.as_object().if_contains("item");
  show("item {} of job '{}': {}\n  {}\n", number(item, "index"), job, text(item, "state"),
       shown == nullptr ? "(bytes)" : plain_text(std::string_view(shown->as_string()), 500));
  for (const json::value& it : item.at("history").as_array()) {
    show("  attempt {}: {}, {}, {}, {} of memory\n", number(it, "attempt"), text(it, "state"), ending_words(it),
         format_duration_us(it.at("wall_us").to_number<std::int64_t>()),
         format_size(number(it, "peak_memory_kib") * 1024));
    if (const std::string reason = text(it, "reason"); !reason.empty()) show("    {}\n", plain_text(reason, 200));
    if (const std::string said = text(it, "last_line"); !said.empty()) show("    it said: {}\n", plain_text(said, 200));
  }
  show("  what it printed: drover logs {}:{}\n", job, number(item, "index"));
}

/// What one item printed, a JSON object for each line. A server does not tell of streams and times here.
class JsonLines {
 public:
  explicit JsonLines(std::string item) : item_(std::move(item)) {}

  Result<void> take(std::string_view piece) {
    rest_ += piece;
    std::size_t begin = 0;
    for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
      print(std::string_view(rest_).substr(begin, end - begin));
      begin = end + 1;
    }
    rest_.erase(0, begin);
    return {};
  }
  void finish() {
    if (!rest_.empty()) print(rest_);
  }

 private:
  void print(std::string_view line) const {
    const auto index = parse_number(item_);
    show("{}\n", json::serialize(json::object{{"item", index ? *index : 0}, {"text", utf8(line)}}));
  }

  const std::string item_;
  std::string rest_;
};

constexpr fmt::string_view kItemRow = "{:>9}  {:<9}  {:>8}  {:>11}  {:>11}  {}\n";

/// An exit code, or, where there is none, why.
std::string exit_text(const json::value& attempt) {
  if (attempt.is_null()) return "-";
  if (const json::value& code = attempt.at("exit_code"); code.is_number()) {
    return std::to_string(code.to_number<std::int64_t>());
  }
  if (const json::value& signal = attempt.at("signal"); signal.is_number()) {
    return fmt::format("SIG {}", signal.to_number<std::int64_t>());
  }
  return text(attempt, "ending");
}

struct Connected {
  ServerClient client;
  std::string job;
};

Result<Connected> connect_about(const CommonFlags& common, const ServerFlags& server, const std::string& job) {
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  auto which = chosen(*client, job);
  if (!which) return pass(which);
  return Connected{std::move(*client), std::move(*which)};
}

}  // namespace

Result<int> server_status(const CommonFlags& common, const ServerFlags& server, const std::string& job) {
  auto it = connect_about(common, server, job);
  if (!it) return pass(it);
  auto answer = it->client.get(path_of(it->job));
  if (!answer) return pass(answer);
  if (common.json) {
    show("{}\n", json::serialize(*answer));
    return kAllSucceeded;
  }
  const json::value& counts = answer->at("counts");
  show("job '{}' {}\n", text(*answer, "name"), text(*answer, "state"));
  if (const std::string reason = text(*answer, "reason"); !reason.empty()) show("  {}\n", reason);
  show("  {:<10} {}\n", "id", text(*answer, "id"));
  show("  {:<10} {}: {} succeeded, {} failed, {} running, {} waiting, {} pending, {} cancelled\n", "items",
       format_count(number(*answer, "total")), format_count(number(counts, "succeeded")),
       format_count(number(counts, "failed")), format_count(number(counts, "running")),
       format_count(number(counts, "waiting")), format_count(number(counts, "pending")),
       format_count(number(counts, "cancelled")));
  if (const std::string lacking = text(*answer, "waits_for"); !lacking.empty()) {
    show("  {:<10} {}\n", "waits for", lacking);
  }
  return kAllSucceeded;
}

Result<int> server_cancel(const CommonFlags& common, const ServerFlags& server, const std::string& job) {
  auto it = connect_about(common, server, job);
  if (!it) return pass(it);
  auto answer = it->client.post(path_of(it->job, "/cancel"), json::object());
  if (!answer) return pass(answer);
  if (common.json) {
    show("{}\n", json::serialize(*answer));
  } else if (!common.quiet) {
    show("job '{}' {}\n", text(*answer, "name"),
         answer->at("cancelled").as_bool() ? "is cancelled" : "had ended already");
  }
  return kAllSucceeded;
}

Result<int> server_retry(const CommonFlags& common, const ServerFlags& server, const std::string& job) {
  auto it = connect_about(common, server, job);
  if (!it) return pass(it);
  auto answer = it->client.post(path_of(it->job, "/retry"), json::object());
  if (!answer) return pass(answer);
  if (common.json) {
    show("{}\n", json::serialize(*answer));
  } else if (!common.quiet) {
    show("job '{}': {} will run again\n", text(*answer, "name"), plural(number(*answer, "items"), "item"));
  }
  return kAllSucceeded;
}

Result<int> server_items(const CommonFlags& common, const ServerFlags& server, const std::string& job,
                         const std::string& state, std::int64_t limit) {
  const auto [name, item] = split_reference(job);
  auto it = connect_about(common, server, name);
  if (!it) return pass(it);
  if (!item.empty()) {
    auto answer = it->client.get(path_of(it->job, "/items/" + url_escape(item)));
    if (!answer) return pass(answer);
    if (common.json) {
      show("{}\n", json::serialize(*answer));
    } else {
      show_item(name.empty() ? it->job : name, *answer);
    }
    return kAllSucceeded;
  }
  std::uint64_t left = limit == 0 ? std::numeric_limits<std::uint64_t>::max() : static_cast<std::uint64_t>(limit);
  std::uint64_t from = 0;
  while (left > 0) {
    auto page = it->client.get(path_of(it->job, fmt::format("/items?from={}&limit={}&state={}", from,
                                                            std::min<std::uint64_t>(left, 1000), url_escape(state))));
    if (!page) return pass(page);
    if (!common.json && from == 0) {
      show(kItemRow, "INDEX", "STATE", "ATTEMPTS", "EXIT", "TIME", "ITEM");
    }
    for (const json::value& one : page->at("items").as_array()) {
      --left;
      if (common.json) {
        show("{}\n", json::serialize(one));
        continue;
      }
      const json::value& last = one.at("last");
      const json::value* shown = one.as_object().if_contains("item");
      show(kItemRow, number(one, "index"), text(one, "state"), number(one, "attempts"), exit_text(last),
           last.is_null() ? "-" : format_duration_us(last.at("wall_us").to_number<std::int64_t>()),
           shown == nullptr ? "(bytes)" : plain_text(std::string_view(shown->as_string()), 60));
    }
    const json::value& next = page->at("next");
    if (next.is_null()) break;
    from = next.to_number<std::uint64_t>();
  }
  return kAllSucceeded;
}

Result<int> server_logs(const CommonFlags& common, const ServerFlags& server, const ServerLogs& wanted) {
  const auto [name, item] = split_reference(wanted.reference);
  auto it = connect_about(common, server, name);
  if (!it) return pass(it);
  const auto print = [](std::string_view bytes) -> Result<void> {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) {
      return std::unexpected(errno_error(errno, "standard output"));
    }
    return {};
  };
  Result<void> done;
  if (wanted.follow) {
    if (common.json) {
      return fail(ErrorCode::bad_input, "what is followed through a server is shown as it is printed, not as JSON",
                  "leave --json or --follow away");
    }
    if (item.empty()) {
      return fail(ErrorCode::bad_input, "through a server one item is followed, not all of a job",
                  fmt::format("name the item: drover logs {}:0 --follow", name.empty() ? "JOB" : name));
    }
    // By its id: another job may be given the same name meanwhile.
    auto job = it->client.get(path_of(it->job));
    if (!job) return pass(job);
    done = follow_log(it->client, {.job = text(*job, "id"),
                                   .item = item,
                                   .attempt = wanted.attempt,
                                   .has_tail = wanted.has_tail,
                                   .tail = wanted.tail,
                                   .only_stderr = wanted.only_stderr,
                                   .quiet = common.quiet});
  } else if (!wanted.grep.empty()) {
    FoundLines lines(common);
    done = it->client.stream(
        path_of(it->job, fmt::format("/search?grep={}&limit=1000000{}{}", url_escape(wanted.grep),
                                     wanted.ignore_case ? "&ignore_case=1" : "", wanted.failed ? "&failed=1" : "")),
        [&](std::string_view piece) { return lines.take(piece); });
    if (!done) return pass(done);
    std::fflush(stdout);
    return lines.count() > 0 ? kAllSucceeded : kSomeDidNot;
  } else if (item.empty()) {
    return fail(ErrorCode::bad_input, "which item's log?",
                fmt::format("drover logs {}:0, or add --grep PATTERN", name));
  } else {
    JsonLines lines(item);
    done = it->client.stream(
        path_of(it->job, fmt::format("/items/{}/log?attempt={}&tail={}{}", url_escape(item), wanted.attempt,
                                     wanted.tail, wanted.only_stderr ? "&stream=stderr" : "")),
        [&](std::string_view piece) { return common.json ? lines.take(piece) : print(piece); });
    if (done) lines.finish();
  }
  if (!done) return pass(done);
  std::fflush(stdout);
  return kAllSucceeded;
}

}  // namespace drover
