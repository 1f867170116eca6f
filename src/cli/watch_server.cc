#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <ctime>
#include <functional>
#include <map>

#include "base/units.h"
#include "cli/coming_machines.h"
#include "cli/watch.h"
#include "cli/watch_loop.h"
#include "engine/system_clock.h"
#include "screen/jobs_view.h"
#include "screen/recent_rate.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::int64_t kScreenMs = 2'000;
constexpr int kJobsListed = 200;
// Of so many running jobs it is asked each second what runs; the list does not tell.
constexpr std::size_t kJobsAsked = 12;
constexpr int kFailuresAsked = 50;

std::string local_clock() {
  return fmt::format("{:%H:%M:%S}", fmt::localtime(std::time(nullptr)));
}

std::string text(const json::value& object, const char* name) {
  const json::value& value = object.at(name);
  return value.is_string() ? std::string(value.get_string()) : "";
}

std::uint64_t number(const json::value& object, const char* name) {
  return object.at(name).to_number<std::uint64_t>();
}

/// JSON that is not what a server sends throws: that is an answer which cannot be understood.
Result<void> understand(const std::function<Result<void>()>& work) {
  try {
    return work();
  } catch (const std::exception&) {
    return fail(ErrorCode::io, "unexpected response from the server",
                "check that the server and this client are the same version");
  }
}

class JobScene : public Scene {
 public:
  JobScene(ServerClient client, std::string job) : client_(std::move(client)), job_(std::move(job)) {}

  Result<void> fetch() override {
    return understand([&] { return ask(); });
  }

  std::vector<std::string> lines(ScreenSize size, const std::string& trouble) const override {
    return whole_screen(view_, size, trouble);
  }

 private:
  Result<void> ask() {
    auto job = client_.get_soon("/api/v1/jobs/" + url_escape(job_), kScreenMs);
    if (!job) return pass(job);
    job_ = text(*job, "id");  // another may be given the same name meanwhile
    const json::value& counts = job->at("counts");
    RunView view{.name = text(*job, "name"), .total = number(*job, "total")};
    view.succeeded = number(counts, "succeeded");
    view.failed = number(counts, "failed");
    view.cancelled = number(counts, "cancelled");
    view.running = number(counts, "running");
    view.waiting = number(counts, "waiting");
    view.pending = number(counts, "pending");
    const json::value& ended = job->at("ended_ms");
    const std::int64_t until_ms = ended.is_null() ? SystemWallClock().epoch_ms() : ended.to_number<std::int64_t>();
    view.elapsed_s =
        std::max(0.0, static_cast<double>(until_ms - job->at("created_ms").to_number<std::int64_t>()) / 1000);
    view.rate = rate_.note(steady_s(), view.succeeded + view.failed + view.cancelled);
    view.left = rate_.left(view.running + view.waiting + view.pending);
    if (!ended.is_null()) view.state_note = text(*job, "state");
    const json::object& object = job->as_object();
    for (const char* why : {"reason", "waits_for"}) {
      if (!object.contains(why) || text(*job, why).empty()) continue;
      view.state_note += (view.state_note.empty() ? "" : ": ") + text(*job, why);
    }
    if (view.failed > 0) {
      if (auto listed = list_failures(view); !listed) return listed;
    }
    view_ = std::move(view);
    return {};
  }

  Result<void> list_failures(RunView& view) {
    auto page = client_.get_soon(
        fmt::format("/api/v1/jobs/{}/items?state=failed&limit={}", url_escape(job_), kFailuresAsked), kScreenMs);
    if (!page) return pass(page);
    for (const json::value& item : page->at("items").as_array()) {
      const json::value& last = item.at("last");
      if (last.is_null()) continue;
      const json::value& code = last.at("exit_code");
      view.last_failures.push_back(
          {.item = number(item, "index"),
           .attempt = static_cast<std::uint32_t>(number(last, "attempt")),
           .how = code.is_null() ? text(last, "ending") : fmt::format("exit code {}", code.to_number<std::int64_t>()),
           .last_line = text(last, "last_line"),
           .will_retry = false});
    }
    return {};
  }

  ServerClient client_;
  std::string job_;
  RecentRate rate_;
  RunView view_;
};

class JobsScene : public Scene {
 public:
  JobsScene(ServerClient client, std::string address) : client_(std::move(client)) {
    view_.server = std::move(address);
  }

  Result<void> fetch() override {
    return understand([&] { return ask(); });
  }

  std::vector<std::string> lines(ScreenSize size, const std::string& trouble) const override {
    JobsView view = view_;
    view.clock = local_clock();
    view.note = trouble;
    return lay_out_jobs(view, size, wanted_colours());
  }

 private:
  Result<void> ask() {
    auto jobs = client_.get_soon(fmt::format("/api/v1/jobs?limit={}", kJobsListed), kScreenMs);
    if (!jobs) return pass(jobs);
    auto workers = client_.get_soon("/api/v1/workers", kScreenMs);
    if (!workers) return pass(workers);
    const auto now_ms = static_cast<double>(SystemWallClock().epoch_ms());
    std::vector<JobsView::JobLine> lines;
    std::map<std::string, RecentRate> rates;  // of the jobs that are still there
    std::size_t asked = 0;
    for (const json::value& job : jobs->at("jobs").as_array()) {
      JobsView::JobLine line = line_of(job, now_ms);
      if (!line.has_ended()) {
        const std::string id = text(job, "id");
        RecentRate& rate = rates[id] = std::move(rates_[id]);
        const std::uint64_t done = line.succeeded + line.failed + line.cancelled;
        line.rate = rate.note(steady_s(), done);
        line.left = rate.left(line.total - std::min(line.total, done));
        if (asked++ < kJobsAsked) ask_more(id, line);
      }
      lines.push_back(std::move(line));
    }
    rates_ = std::move(rates);
    std::ranges::stable_partition(lines, [](const JobsView::JobLine& it) { return !it.has_ended(); });
    view_.more_jobs = lines.size() == kJobsListed;
    view_.jobs = std::move(lines);
    view_.workers.clear();
    for (const json::value& worker : workers->at("workers").as_array())
      view_.workers.push_back(line_of_worker(worker, now_ms));
    add_coming_machines();
    return {};
  }

  /// Of fleets. A key that may not read fleets sees none.
  void add_coming_machines() {
    const auto fleets = client_.get_soon("/api/v1/fleets", kScreenMs);
    if (!fleets) return;
    for (const ComingMachine& it : coming_machines(*fleets)) {
      view_.workers.push_back({.name = it.name,
                               .cpus = fmt::format("{:g}", it.told.at("cpus").to_number<double>()),
                               .memory = format_size(number(it.told, "memory_bytes")),
                               .version = {},
                               .labels = fmt::format("fleet={} shape={}", it.fleet, it.shape),
                               .seen_ago_s = {},
                               .coming = it.state});
    }
  }

  static JobsView::JobLine line_of(const json::value& job, double now_ms) {
    const json::value& counts = job.at("counts");
    JobsView::JobLine line{.name = text(job, "name"), .state = text(job, "state"), .total = number(job, "total")};
    line.succeeded = number(counts, "succeeded");
    line.failed = number(counts, "failed");
    line.cancelled = number(counts, "cancelled");
    line.running = number(counts, "running");
    if (const json::value& ended = job.at("ended_ms"); !ended.is_null()) {
      line.ended_ago_s = std::max(0.0, (now_ms - ended.to_number<double>()) / 1000);
    }
    return line;
  }

  /// How many run, and why none does. Without an answer the line stays as it is.
  void ask_more(const std::string& id, JobsView::JobLine& line) {
    auto job = client_.get_soon("/api/v1/jobs/" + url_escape(id), kScreenMs);
    if (!job) return;
    line.running = number(job->at("counts"), "running");
    if (job->as_object().contains("waits_for")) line.note = text(*job, "waits_for");
  }

  static JobsView::WorkerLine line_of_worker(const json::value& worker, double now_ms) {
    JobsView::WorkerLine line{.name = text(worker, "name"), .version = text(worker, "version")};
    const json::value& cpus = worker.at("cpus");
    const json::value& memory = worker.at("memory_bytes");
    const json::value& seen = worker.at("seen_ms");
    line.cpus = cpus.is_null() ? "-" : fmt::format("{:g}", cpus.to_number<double>());
    line.memory = memory.is_null() ? "-" : format_size(memory.to_number<std::uint64_t>());
    if (!seen.is_null()) line.seen_ago_s = std::max(0.0, (now_ms - seen.to_number<double>()) / 1000);
    for (const auto& [name, value] : worker.at("labels").as_object()) {
      line.labels += fmt::format("{}{}={}", line.labels.empty() ? "" : " ", std::string_view(name),
                                 std::string_view(value.as_string()));
    }
    return line;
  }

  ServerClient client_;
  JobsView view_;
  std::map<std::string, RecentRate> rates_;
};

}  // namespace

Result<int> watch_job(const CommonFlags& common, const ServerFlags& server, const std::string& job) {
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  JobScene scene(std::move(*client), job);
  return watch(common, scene);
}

Result<int> watch_jobs(const CommonFlags& common, const ServerFlags& server) {
  auto access = find_server(common, server);
  if (!access) return pass(access);
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  JobsScene scene(std::move(*client), access->address);
  return watch(common, scene);
}

}  // namespace drover
