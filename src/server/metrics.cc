#include "server/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

const prometheus::Histogram::BucketBoundaries kCommitSeconds = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                                                                0.05,   0.1,   0.25,  0.5,   1,    5};
const prometheus::Histogram::BucketBoundaries kPollSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                              0.1,   0.25,   0.5,   1,    5,     20};
constexpr std::uint64_t kMostStreams = 1000;  // each is a handful of series
const prometheus::Histogram::BucketBoundaries kBatchSizes = {1, 3, 10, 30, 100, 300, 1000, 3000, 10'000, 30'000};

/// Figures that are known when they are asked for.
class Looked {
 public:
  using Labels = std::vector<ClientMetric::Label>;

  void family(std::string name, std::string help, MetricType type) {
    families_.push_back({std::move(name), std::move(help), type, {}});
  }
  void add(double value, Labels labels = {}) {
    ClientMetric metric;
    metric.label = std::move(labels);
    (families_.back().type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    families_.back().metric.push_back(std::move(metric));
  }
  std::vector<MetricFamily>& take() { return families_; }

 private:
  std::vector<MetricFamily> families_;
};

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double size_of_file(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<double>(size);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

void look_at_process(Looked& out, const std::string& folder) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  out.family("process_cpu_seconds_total", "CPU time of the server.", MetricType::Counter);
  out.add(seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
  out.family("process_resident_memory_bytes", "Resident memory of the server.", MetricType::Gauge);
  out.add(resident_bytes());
  std::error_code error;
  const auto open =
      std::distance(std::filesystem::directory_iterator("/proc/self/fd", error), std::filesystem::directory_iterator());
  out.family("process_open_fds", "Open file descriptors of the server.", MetricType::Gauge);
  out.add(static_cast<double>(open));
  out.family("drover_ledger_bytes", "Size of the ledger and of its write-ahead log.", MetricType::Gauge);
  out.add(size_of_file(folder + "/drover.db"), {{"file", "ledger"}});
  out.add(size_of_file(folder + "/drover.db-wal"), {{"file", "wal"}});
  struct statvfs space{};
  if (::statvfs(folder.c_str(), &space) == 0) {
    out.family("drover_free_bytes", "Free space on the file system of the server's data folder.", MetricType::Gauge);
    out.add(static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize));
  }
}

double dollars_of(std::int64_t microdollars) {
  return static_cast<double>(microdollars) / 1e6;
}

void look_at_jobs(Looked& out, const JobBoard& board) {
  struct QueueFigures {
    std::map<std::string_view, double> jobs;
    ItemCounts items;
    JobUsage used;
  };
  std::map<std::string, QueueFigures> queues;
  board.each([&](const JobView& it) {
    QueueFigures& queue = queues[it.job.place.queue];
    ++queue.jobs[to_string(it.job.state)];
    queue.items.pending += it.counts.pending;
    queue.items.waiting += it.counts.waiting;
    queue.items.running += it.counts.running;
    queue.items.succeeded += it.counts.succeeded;
    queue.items.failed += it.counts.failed;
    queue.items.cancelled += it.counts.cancelled;
    queue.used += it.job.used;
  });
  out.family("drover_jobs", "Jobs in the ledger, by queue and state.", MetricType::Gauge);
  for (const auto& [queue, it] : queues) {
    for (const auto& [state, count] : it.jobs) out.add(count, {{"queue", queue}, {"state", std::string(state)}});
  }
  out.family("drover_items", "Items of the jobs in the ledger, by queue and state.", MetricType::Gauge);
  for (const auto& [queue, it] : queues) {
    const std::pair<const char*, std::uint64_t> states[] = {
        {"pending", it.items.pending},     {"waiting", it.items.waiting}, {"running", it.items.running},
        {"succeeded", it.items.succeeded}, {"failed", it.items.failed},   {"cancelled", it.items.cancelled}};
    for (const auto& [state, count] : states) {
      out.add(static_cast<double>(count), {{"queue", queue}, {"state", state}});
    }
  }
  out.family("drover_used_cpu_seconds", "CPU time used by attempts of the jobs in the ledger.", MetricType::Gauge);
  for (const auto& [queue, it] : queues) out.add(static_cast<double>(it.used.cpu_ms) / 1000, {{"queue", queue}});
  out.family("drover_wasted_cpu_seconds",
             "CPU time used by failed and lost attempts. Attempts whose worker stopped responding are not included.",
             MetricType::Gauge);
  for (const auto& [queue, it] : queues) out.add(static_cast<double>(it.used.wasted_cpu_ms) / 1000, {{"queue", queue}});
  out.family("drover_reserved_cpu_seconds",
             "CPUs reserved by attempts of the jobs in the ledger, times their duration.", MetricType::Gauge);
  for (const auto& [queue, it] : queues) {
    out.add(static_cast<double>(it.used.reserved_cpu_ms) / 1000, {{"queue", queue}});
  }
  out.family("drover_cost_dollars", "Cost of the ended attempts of the jobs in the ledger, where prices are known.",
             MetricType::Gauge);
  for (const auto& [queue, it] : queues) {
    if (it.used.on_demand_microdollars > 0) out.add(dollars_of(it.used.cost_microdollars), {{"queue", queue}});
  }
  out.family("drover_on_demand_dollars", "What these attempts would have cost on demand.", MetricType::Gauge);
  for (const auto& [queue, it] : queues) {
    if (it.used.on_demand_microdollars > 0) out.add(dollars_of(it.used.on_demand_microdollars), {{"queue", queue}});
  }
  out.family("drover_wasted_reserved_cpu_seconds", "Reserved CPU time of failed and lost attempts.", MetricType::Gauge);
  for (const auto& [queue, it] : queues) {
    out.add(static_cast<double>(it.used.wasted_reserved_ms) / 1000, {{"queue", queue}});
  }
}

void look_at_workers(Looked& out, const std::vector<WorkerView>& workers) {
  std::map<std::string_view, double> states{{"alive", 0},  {"draining", 0},    {"left", 0},   {"lost", 0},
                                            {"fenced", 0}, {"quarantined", 0}, {"unheard", 0}};
  double cpus = 0;
  double memory = 0;
  for (const WorkerView& it : workers) {
    const std::string_view state = state_of(it);
    const bool alive = state == "alive";
    ++states[state];
    if (alive && it.worker.has.milli_cpus < Resources::kEndless)
      cpus += static_cast<double>(it.worker.has.milli_cpus) / 1000;
    if (alive && it.worker.has.memory_bytes < Resources::kEndless)
      memory += static_cast<double>(it.worker.has.memory_bytes);
  }
  out.family("drover_workers", "Workers, by state.", MetricType::Gauge);
  for (const auto& [state, count] : states) out.add(count, {{"state", std::string(state)}});
  out.family("drover_worker_cpus", "CPUs of the live workers.", MetricType::Gauge);
  out.add(cpus);
  out.family("drover_worker_memory_bytes", "Memory of the live workers.", MetricType::Gauge);
  out.add(memory);
}

void look_at_streams(Looked& out, const std::vector<StreamView>& streams, std::int64_t now_ms) {
  const std::string bound = concat(" At most ", format_count(kMostStreams), " streams are shown, the first by name.");
  out.family("drover_stream_messages", "Messages in a stream, by state." + bound, MetricType::Gauge);
  for (const StreamView& it : streams) {
    const std::pair<const char*, std::uint64_t> states[] = {
        {"visible", it.visible}, {"in_flight", it.in_flight}, {"delayed", it.delayed}};
    for (const auto& [state, count] : states) {
      out.add(static_cast<double>(count), {{"stream", it.stream.name}, {"state", state}});
    }
  }
  out.family("drover_stream_oldest_seconds", "Age of the oldest message in a stream; 0 if there is none." + bound,
             MetricType::Gauge);
  for (const StreamView& it : streams) {
    const std::int64_t age_ms = it.oldest_ms == 0 ? 0 : std::max<std::int64_t>(now_ms - it.oldest_ms, 0);
    out.add(static_cast<double>(age_ms) / 1000, {{"stream", it.stream.name}});
  }
  out.family("drover_stream_receivers", "Receivers that wait for messages of a stream." + bound, MetricType::Gauge);
  for (const StreamView& it : streams) {
    out.add(static_cast<double>(it.receivers), {{"stream", it.stream.name}});
  }
}

void look_at_costs(Looked& out, const Metrics::FleetBills& bills, std::int64_t now_ms) {
  std::vector<std::pair<std::string, MachineCosts>> all;
  for (const Fleet& it : bills.fleets) {
    const MachineCosts costs = costs_of(it, bills.machines, now_ms);
    if (costs.billed_on_demand_microdollars > 0) all.emplace_back(it.name, costs);
  }
  const auto family = [&](const char* name, const char* help, const auto& microdollars) {
    out.family(name, help, MetricType::Gauge);
    for (const auto& [fleet, costs] : all) out.add(dollars_of(microdollars(costs)), {{"fleet", fleet}});
  };
  family("drover_fleet_billed_dollars", "What the machines of a fleet have cost until now.",
         [](const MachineCosts& it) { return it.billed_microdollars; });
  family("drover_fleet_attempts_dollars", "Cost of the ended attempts on the machines of a fleet.",
         [](const MachineCosts& it) { return it.attempts_microdollars; });
  family("drover_fleet_idle_dollars", "What the machines of a fleet have cost beyond their ended attempts.",
         [](const MachineCosts& it) { return it.idle_microdollars(); });
  family("drover_fleet_on_demand_dollars", "What the machines of a fleet would have cost on demand.",
         [](const MachineCosts& it) { return it.billed_on_demand_microdollars; });
}

}  // namespace

// In the order in which they are made: what counts stands on the registry.
struct Metrics::Parts {
  explicit Parts(Sources it) : sources(std::move(it)) {}

  const Sources sources;
  prometheus::Registry registry;
  prometheus::Counter& leases =
      prometheus::BuildCounter().Name("drover_leases_total").Help("Leases granted.").Register(registry).Add({});
  prometheus::Counter& leased_items = prometheus::BuildCounter()
                                          .Name("drover_leased_items_total")
                                          .Help("Items granted in leases.")
                                          .Register(registry)
                                          .Add({});
  prometheus::Family<prometheus::Counter>& attempts =
      prometheus::BuildCounter().Name("drover_attempts_total").Help("Ended attempts, by outcome.").Register(registry);
  prometheus::Counter& cpu_seconds = prometheus::BuildCounter()
                                         .Name("drover_attempt_cpu_seconds_total")
                                         .Help("CPU time of ended attempts.")
                                         .Register(registry)
                                         .Add({});
  prometheus::Counter& gpu_seconds = prometheus::BuildCounter()
                                         .Name("drover_attempt_gpu_busy_seconds_total")
                                         .Help("Time for which GPUs of ended attempts were busy.")
                                         .Register(registry)
                                         .Add({});
  prometheus::Counter& gpu_joules = prometheus::BuildCounter()
                                        .Name("drover_attempt_gpu_energy_joules_total")
                                        .Help("Energy that GPUs of ended attempts used.")
                                        .Register(registry)
                                        .Add({});
  prometheus::Counter& log_bytes = prometheus::BuildCounter()
                                       .Name("drover_log_bytes_total")
                                       .Help("Output of ended attempts.")
                                       .Register(registry)
                                       .Add({});
  prometheus::Histogram& poll_seconds =
      prometheus::BuildHistogram()
          .Name("drover_poll_seconds")
          .Help("Time from a worker's poll to the response, including the wait for work.")
          .Register(registry)
          .Add({}, kPollSeconds);
  prometheus::Histogram& commit_seconds = prometheus::BuildHistogram()
                                              .Name("drover_commit_seconds")
                                              .Help("Duration of commits to the ledger.")
                                              .Register(registry)
                                              .Add({}, kCommitSeconds);
  prometheus::Histogram& batch_mutations = prometheus::BuildHistogram()
                                               .Name("drover_commit_mutations")
                                               .Help("Number of changes per commit.")
                                               .Register(registry)
                                               .Add({}, kBatchSizes);
  prometheus::Family<prometheus::Counter>& answers = prometheus::BuildCounter()
                                                         .Name("drover_http_answers_total")
                                                         .Help("HTTP responses, by class of the status code.")
                                                         .Register(registry);
  prometheus::Counter* by_status[6] = {};
  prometheus::Counter* succeeded = nullptr;
  std::map<Ending, prometheus::Counter*> by_ending;  // but for these
};

Metrics::Metrics(Sources sources) : parts_(std::make_unique<Parts>(std::move(sources))) {
  for (int digit = 1; digit <= 5; ++digit)
    parts_->by_status[digit] = &parts_->answers.Add({{"code", concat(digit, "xx")}});
  for (int ending = 0; ending <= static_cast<int>(Ending::out_of_memory); ++ending) {
    const auto it = static_cast<Ending>(ending);
    if (it != Ending::exited) parts_->by_ending[it] = &parts_->attempts.Add({{"ending", std::string(to_string(it))}});
  }
  // Two ways to exit are worth telling apart.
  parts_->by_ending[Ending::exited] = &parts_->attempts.Add({{"ending", "failed"}});
  parts_->succeeded = &parts_->attempts.Add({{"ending", "succeeded"}});
}

Metrics::~Metrics() = default;

void Metrics::leased(const std::vector<Lease>& leases) {
  if (leases.empty()) return;
  std::uint64_t items = 0;
  for (const Lease& lease : leases) items += lease.count;
  parts_->leases.Increment(static_cast<double>(leases.size()));
  parts_->leased_items.Increment(static_cast<double>(items));
}

void Metrics::committed(double seconds, const Batch& batch) {
  parts_->commit_seconds.Observe(seconds);
  parts_->batch_mutations.Observe(static_cast<double>(batch.mutations.size()));
  std::int64_t cpu_us = 0;
  std::int64_t gpu_us = 0;
  std::int64_t gpu_mj = 0;
  std::uint64_t log_bytes = 0;
  std::uint64_t succeeded = 0;
  for (const Mutation& mutation : batch.mutations) {
    const auto* added = std::get_if<AddAttempt>(&mutation);
    if (added == nullptr) continue;
    const Attempt& it = added->attempt;
    cpu_us += it.user_us + it.system_us;
    gpu_us += it.gpu_busy_us;
    gpu_mj += it.gpu_energy_mj;
    log_bytes += it.log.bytes;
    if (it.state == AttemptState::succeeded) {
      ++succeeded;
    } else {
      parts_->by_ending.at(it.ending)->Increment();
    }
  }
  if (succeeded > 0) parts_->succeeded->Increment(static_cast<double>(succeeded));
  if (cpu_us > 0) parts_->cpu_seconds.Increment(static_cast<double>(cpu_us) / 1e6);
  if (gpu_us > 0) parts_->gpu_seconds.Increment(static_cast<double>(gpu_us) / 1e6);
  if (gpu_mj > 0) parts_->gpu_joules.Increment(static_cast<double>(gpu_mj) / 1e3);
  if (log_bytes > 0) parts_->log_bytes.Increment(static_cast<double>(log_bytes));
}

void Metrics::polled(double seconds) {
  parts_->poll_seconds.Observe(seconds);
}

void Metrics::answered(int status) {
  const int digit = status / 100;
  if (digit >= 1 && digit <= 5) parts_->by_status[digit]->Increment();
}

std::string Metrics::text() const {
  Looked looked;
  look_at_jobs(looked, parts_->sources.board);
  if (const auto workers = parts_->sources.workers()) look_at_workers(looked, *workers);
  if (const auto streams = parts_->sources.streams(kMostStreams)) {
    look_at_streams(looked, *streams, parts_->sources.now_ms());
  }
  if (const auto bills = parts_->sources.fleets()) look_at_costs(looked, *bills, parts_->sources.now_ms());
  look_at_process(looked, parts_->sources.folder);
  looked.family("drover_dropped_log_entries_total",
                "Entries of the server's own log that were dropped because standard error was not read.",
                MetricType::Counter);
  looked.add(static_cast<double>(parts_->sources.dropped_log_entries()));
  std::vector<MetricFamily> all = parts_->registry.Collect();
  for (MetricFamily& family : looked.take()) {
    if (!family.metric.empty()) all.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace drover
