// drover events: what happened, and what happens. Events are numbered: after a break it goes on behind the last one
// that was seen.
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <boost/json.hpp>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/event_lines.h"
#include "cli/print.h"
#include "cli/server_job.h"
#include "cli/server_verb.h"
#include "screen/plain_text.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kEventsPerPage = 1000;
constexpr int kFirstRetryMs = 200;
constexpr int kLongestRetryMs = 5'000;

struct EventsFlags : AskingFlags {
  std::string job;
  bool follow = false;
  std::uint64_t after = 0;
  bool has_after = false;
};

class Events {
 public:
  Events(ServerClient& client, const EventsFlags& flags) : client_(client), flags_(flags), last_(flags.after) {}

  Result<int> run() {
    if (!flags_.job.empty()) {
      // By its id: another job may be given the same name meanwhile.
      auto which = whole_job(client_, flags_.job);
      if (!which) return pass(which);
      auto job = client_.get(job_path(*which));
      if (!job) return pass(job);
      of_job_ = "&job=" + text_in(*job, "id");
    }
    // Who follows all that happens wants what comes; of one job, or from a number on, also what was.
    if (flags_.follow && of_job_.empty() && !flags_.has_after) {
      if (auto newest = skip_all(); !newest) return pass(newest);
      return follow();
    }
    if (auto listed = list(); !listed) return pass(listed);
    if (!flags_.follow || nobody_reads_) return kAllSucceeded;
    return follow();
  }

 private:
  Result<void> list() {
    while (!nobody_reads_) {
      auto page = client_.get(fmt::format("/api/v1/events?after={}&limit={}{}", last_, kEventsPerPage, of_job_));
      if (!page) return pass(page);
      const json::array& events = list_in(*page, "events");
      for (const json::value& it : events) print(it);
      if (events.size() < kEventsPerPage) break;
    }
    flush_output();
    return {};
  }

  Result<void> skip_all() {
    auto newest = client_.post("/api/v1/sql", json::object{{"query", "select max(event) as newest from events"}});
    if (!newest) return pass(newest);
    const json::array& rows = list_in(*newest, "rows");
    if (!rows.empty() && rows.front().is_array() && !rows.front().get_array().empty()) {
      const json::value& cell = rows.front().get_array().front();
      if (cell.is_number()) last_ = cell.to_number<std::uint64_t>();
    }
    return {};
  }

  Result<int> follow() {
    int pause_ms = kFirstRetryMs;
    bool was_away = false;
    while (!nobody_reads_) {
      EventLines lines([&](const SentEvent& event) { return take(event); });
      auto done = client_.stream(fmt::format("/api/v1/events?after={}{}", last_, of_job_),
                                 [&](std::string_view piece) {
                                   if (std::exchange(was_away, false) && !flags_.common.quiet)
                                     print_notice("reconnected to the server");
                                   pause_ms = kFirstRetryMs;
                                   return lines.add(piece);
                                 },
                                 {{"Accept", "text/event-stream"}});
      if (nobody_reads_) break;
      if (!done && !may_answer_later(done.error())) return pass(done);
      if (!std::exchange(was_away, true) && !flags_.common.quiet) {
        print_notice(fmt::format("{}; trying again until the server is reachable (Ctrl-C to stop)",
                                 done ? "the server closed the connection" : done.error().message));
      }
      ::poll(nullptr, 0, pause_ms);
      pause_ms = std::min(2 * pause_ms, kLongestRetryMs);
    }
    return kAllSucceeded;
  }

  Result<void> take(const SentEvent& event) {
    json::error_code error;
    const json::value value = json::parse(event.data, error);
    if (error || !value.is_object()) return fail(ErrorCode::damaged, "the server's response is not JSON");
    if (event.kind == "missed") {
      print_notice(
          fmt::format("events {} to {} are no longer stored", number_in(value, "from"), number_in(value, "to")));
      return {};
    }
    print(value);
    flush_output();
    if (nobody_reads_) return fail(ErrorCode::stopped, "standard output is closed");
    return {};
  }

  void print(const json::value& event) {
    last_ = std::max(last_, number_in(event, "id"));
    std::string line;
    if (flags_.common.json) {
      line = json::serialize(event);
    } else {
      std::string kind = text_in(event, "kind");
      std::ranges::replace(kind, '_', ' ');
      const std::string job = text_in(event, "job");
      line = fmt::format("{:>7}  {}  {:<18}  {}{}", number_in(event, "id"), local_time(number_in(event, "at_ms")), kind,
                         plain_text(text_in(event, "name")), job.empty() ? "" : fmt::format(" ({})", job.substr(0, 8)));
      if (const std::string detail = text_in(event, "detail"); !detail.empty()) line += ": " + plain_text(detail);
    }
    line += '\n';
    nobody_reads_ = !print_text(stdout, line) || std::ferror(stdout) != 0;
  }

  ServerClient& client_;
  const EventsFlags& flags_;
  std::uint64_t last_;
  std::string of_job_;
  bool nobody_reads_ = false;
};

}  // namespace

void add_events(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<EventsFlags>();
  Verb verb = add_server_verb(app, "events", "Show or follow events for jobs, workers and queues",
                              "drover events nightly\n  drover events --follow\n  drover events --after 1000 --json",
                              *flags, invocation, [flags, &app](ServerClient& client) {
                                flags->has_after = app.part("events").count("--after") > 0;
                                return Events(client, *flags).run();
                              });
  verb.add_option("job", flags->job, "Show only events for this job").type_name("JOB");
  verb.add_flag("--follow,-f", flags->follow,
                "Keep printing events until Ctrl-C; without a job or --after, start with new events");
  verb.add_option("--after", flags->after, "Show only events with an id greater than ID").type_name("ID");
}

}  // namespace drover
