// lifecycle_bench WORKERS KINDS ENDED_JOBS DEPENDENTS RETRIED: what single commands cost the core when very much of
// something comes and goes. Prints one line of JSON: for each kind of command how many there were, their mean and the
// longest, in microseconds of the core's time, with what it takes to make the mutations of the batch; and the memory in
// use before and after.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/core.h"
#include "measure.h"

namespace drover {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;
constexpr std::int64_t kTermMs = 60'000;
constexpr std::int64_t kDayMs = 24 * 3'600'000;
constexpr std::uint64_t kGrant = 100;  // items that a worker takes and tells of at a time

struct Size {
  std::uint64_t workers = 0;
  std::uint64_t kinds = 0;
  std::uint64_t ended_jobs = 0;
  std::uint64_t dependents = 0;
  std::uint64_t retried = 0;
};

struct Cost {
  std::uint64_t count = 0;
  double sum = 0;
  double most = 0;
};

std::uint64_t heap_bytes() {
  malloc_trim(0);
  const struct mallinfo2 in_use = mallinfo2();
  return in_use.uordblks + in_use.hblkhd;
}

/// A core, and what each of its commands has cost.
class Life {
 public:
  explicit Life(const Size& size) : size_(size) {}

  void run() {
    // What is there at the end, too.
    for (std::uint64_t i = 0; i < size_.ended_jobs; ++i) run_one_item("job of one item");
    const std::uint64_t before = heap_bytes();

    for (std::uint64_t i = 0; i < size_.workers; ++i) join(i);
    ask_why();
    wake_everybody();
    cancel_what_all_hold();
    lose_everybody();
    run_all("poll that is given items", {});
    forget_after(JobId{size_.ended_jobs});
    note_memory("workers", before, heap_bytes());

    const std::uint64_t before_dependents = heap_bytes();
    end_one_that_many_wait_for();
    note_memory("dependents", before_dependents, heap_bytes());

    const std::uint64_t before_retry = heap_bytes();
    retry_all();
    note_memory("retry", before_retry, heap_bytes());
  }

  void print() const {
    std::string commands;
    for (const auto& [name, cost] : costs_) {
      commands +=
          fmt::format(R"({}"{}": {{"count": {}, "mean_us": {:.3f}, "most_us": {:.1f}}})", commands.empty() ? "" : ", ",
                      name, cost.count, 1e6 * cost.sum / static_cast<double>(cost.count), 1e6 * cost.most);
    }
    std::string memory;
    for (const auto& [name, bytes] : memory_) {
      memory += fmt::format(R"({}"{}": {{"before": {}, "after": {}}})", memory.empty() ? "" : ", ", name, bytes.first,
                            bytes.second);
    }
    fmt::print(R"({{"workers": {}, "kinds": {}, "ended_jobs": {}, "dependents": {}, "retried": {}, "peak_kib": {}, )"
               R"("commands": {{{}}}, "memory": {{{}}}}})"
               "\n",
               size_.workers, size_.kinds, size_.ended_jobs, size_.dependents, size_.retried, peak_resident_kib(),
               commands, memory);
  }

 private:
  JobId submit(const std::string& what, SubmitJob job) {
    ++uuids_;
    for (int byte = 0; byte < 8; ++byte) job.uuid.bytes[byte] = static_cast<std::uint8_t>(uuids_ >> (8 * byte));
    job.name = "job";
    if (job.ask.milli_cpus == 0) job.ask = {1000, kGiB, {}};
    return std::get<JobAccepted>(tell(what, job)).job;
  }

  WorkerId join(std::uint64_t number) {
    RegisterWorker hello{fmt::format("worker{}", number), 1, kTermMs};
    // Machines of one model differ in the bytes of memory that their systems leave.
    hello.has = {8000, 64 * kGiB + number % size_.kinds * 4096, {}};
    hello.labels["zone"] = fmt::format("z{}", number % 5);
    return std::get<WorkerRegistered>(tell("a worker joins", hello)).worker;
  }

  std::vector<Lease> poll(const std::string& what, WorkerId worker, std::uint64_t want, std::int64_t wait_ms) {
    Poll poll;
    poll.report = {worker, 1, {}, {}, {}};
    poll.number = PollNumber{++polls_};
    poll.want = want;
    poll.wait_ms = wait_ms;
    poll.room = {want * 1000, 64 * kGiB, {}};
    const Effect effect = tell(what, poll);
    const auto* answer = std::get_if<PollAnswer>(&effect);
    return answer == nullptr ? std::vector<Lease>() : answer->leases;
  }

  void end(WorkerId worker, const Lease& lease, const Outcome& outcome) {
    Report report{.worker = worker, .incarnation = 1};
    for (std::uint64_t i = 0; i < lease.count; ++i) {
      EndedAttempt ended;
      ended.token = {lease.grant, ItemIndex{lease.first.value + i}};
      ended.outcome = outcome;
      ended.usage = {now_ms_ - 1000, 1'000'000, 900'000, 50'000, 1200};
      report.ended.push_back(std::move(ended));
    }
    tell("report of what ended", report);
  }

  WorkerId own_worker() {
    if (!own_) own_ = std::get<WorkerRegistered>(tell("a worker joins", RegisterWorker{"own", 1, 0})).worker;
    return own_;
  }

  void run_one_item(const std::string& what) {
    submit(what, {{}, 1});
    for (const Lease& lease : poll("poll that is given items", own_worker(), 1, 0)) end(own_worker(), lease, {});
  }

  void ask_why() {
    const JobId unfit = submit("submit", {{.ask = {64'000, 0, {}}}, 1});
    for (int i = 0; i < 20; ++i) tell("why: nobody suits it", AskWhy{unfit, std::nullopt});
    tell("cancel", CancelJob{unfit, "it was a question"});
  }

  /// All wait, and all get something, one by one.
  void wake_everybody() {
    const std::uint64_t first = polls_;
    for (std::uint64_t i = 1; i <= size_.workers; ++i) poll("poll that waits", WorkerId{i + own_.value}, 8, 3'600'000);
    const std::uint64_t jobs = std::min<std::uint64_t>(size_.workers, 1000);
    for (std::uint64_t i = 0; i < jobs; ++i) submit("submit to those who wait", {{}, 1});
    // Nobody of those who wait has so much memory left.
    for (std::uint64_t i = 0; i < jobs; ++i) {
      submit("submit of what nobody has room for", {{.ask = {1000, 100 * kGiB, {}}}, 1});
    }
    if (polls_ - first != size_.workers) give_up("a worker polled twice");
  }

  void cancel_what_all_hold() {
    const JobId job = submit("submit", {{}, size_.workers * 8});
    ticks();
    for (int i = 0; i < 20; ++i) tell("why: all are busy", AskWhy{job, std::nullopt});
    tell("cancel", CancelJob{job, "not needed"});
    ticks();
  }

  /// Silent for longer than their terms, and forgotten a day later.
  void lose_everybody() {
    pass(2 * kTermMs);
    pass(2 * kDayMs);
  }

  void end_one_that_many_wait_for() {
    const JobId first = submit("submit", {{}, 1});
    for (std::uint64_t i = 0; i < size_.dependents; ++i) {
      submit("submit of a dependent", {{.after = {{first, false}}}, 1});
    }
    for (const Lease& lease : poll("poll that is given items", own_worker(), 1, 0)) {
      end(own_worker(), lease, {Ending::exited, 1, 0, ""});
    }
    ticks();
    for (const auto& [id, job] : core_.durable().jobs) {
      if (id > first && !job.ended()) give_up("a job that comes after one that failed has not failed with it");
    }
    forget_after(JobId{first.value - 1});
  }

  void forget_after(JobId last) {
    std::vector<JobId> ids;
    for (auto it = core_.durable().jobs.upper_bound(last); it != core_.durable().jobs.end(); ++it)
      ids.push_back(it->first);
    std::ranges::reverse(ids);  // one that is waited for cannot go first
    for (const JobId id : ids) tell("forget", ForgetJob{id, now_ms_});
  }

  /// Every item fails, and all of them are retried.
  void retry_all() {
    const JobId job = submit("submit of very many items", {{}, size_.retried});
    run_all("poll that is given items", {Ending::exited, 1, 0, ""});
    retries_ = true;
    ReopenMore page = read_page({job, 1, ItemIndex{0}, std::make_shared<const ReopenChoice>()});
    tell("retry", ReopenJob{.job = job,
                            .epoch = 0,
                            .policy = {},
                            .again = page.again,
                            .rest = std::make_shared<const ReopenChoice>(),
                            .next = page.next});
    bring_marks();
    run_all("poll that is given retried items", {});
    if (core_.durable().jobs.at(job).succeeded != size_.retried) give_up("not every retried item has succeeded");
    retries_ = false;
    forget_after(JobId{job.value - 1});
  }

  void run_all(const std::string& what, const Outcome& outcome) {
    while (true) {
      const std::vector<Lease> leases = poll(what, own_worker(), kGrant, 0);
      for (const Lease& lease : leases) end(own_worker(), lease, outcome);
      if (wanted_) {
        const ReopenMore page = read_page(*wanted_);
        wanted_.reset();
        tell("a page of a retry", page);
      } else if (leases.empty()) {
        return;
      }
    }
  }

  // The marks of the ended job, as a reader of the ledger would find them: every item has failed.
  void bring_marks() {
    if (!marks_wanted_) return give_up("the core has kept the blocks of an ended job");
    auto marks = std::make_shared<ItemBlocks>(marks_wanted_->total);
    for (std::uint64_t block = 0; block < marks->block_count(); ++block) {
      if (!marks->decode(block, std::string(1, static_cast<char>(ItemMark::ended)))) give_up("a block cannot be read");
    }
    tell("the marks of an ended job", MarksRead{marks_wanted_->job, std::move(marks)});
  }

  // Every item has failed once: what a reader of the ledger would find.
  ReopenMore read_page(const ReopenWanted& wanted) const {
    ReopenMore page{wanted.job, wanted.epoch, wanted.from, {}, wanted.from};
    for (; page.next.value < size_.retried && page.again.size() < kReopenPage; ++page.next.value) {
      page.again.push_back({page.next, AttemptNumber{1}, AttemptState::failed});
    }
    return page;
  }

  /// Whatever was left for later.
  void ticks() {
    while (core_.next_deadline().value_or(now_ms_ + 1) <= now_ms_) tell("tick", Tick{});
  }

  void pass(std::int64_t ms) {
    const std::int64_t until_ms = now_ms_ + ms;
    for (auto due = core_.next_deadline(); due && *due <= until_ms; due = core_.next_deadline()) {
      now_ms_ = std::max(now_ms_, *due);
      tell("tick", Tick{});
    }
    now_ms_ = until_ms;
    tell("tick", Tick{});
  }

  Effect tell(const std::string& what, const Command& command) {
    const Ticket ticket{++tickets_};
    const CpuStopwatch watch;
    core_.apply(ticket, command, now_ms_);
    const std::vector<Mutation> mutations = core_.take_mutations();
    const double seconds = watch.seconds();
    Cost& cost = costs_[what];
    ++cost.count;
    cost.sum += seconds;
    cost.most = std::max(cost.most, seconds);
    core_.take_touched();
    Effect own = ReportTaken{};
    for (const Answer& answer : core_.take_answers()) {
      if (const auto* wanted = std::get_if<ReopenWanted>(&answer.effect); wanted != nullptr && retries_)
        wanted_ = *wanted;
      if (const auto* wanted = std::get_if<MarksWanted>(&answer.effect)) marks_wanted_ = *wanted;
      if (const auto* refused = std::get_if<Refused>(&answer.effect)) give_up(refused->error.message);
      if (answer.to == ticket) own = answer.effect;
    }
    return own;
  }

  void note_memory(const std::string& name, std::uint64_t before, std::uint64_t after) {
    memory_.emplace_back(name, std::pair(before, after));
  }

  const Size size_;
  Core core_;
  std::int64_t now_ms_ = 1'800'000'000'000;
  std::uint64_t tickets_ = 0;
  std::uint64_t polls_ = 0;
  std::uint64_t uuids_ = 0;
  WorkerId own_;
  bool retries_ = false;
  std::optional<ReopenWanted> wanted_;
  std::optional<MarksWanted> marks_wanted_;
  std::map<std::string, Cost> costs_;
  std::vector<std::pair<std::string, std::pair<std::uint64_t, std::uint64_t>>> memory_;
};

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fputs("usage: lifecycle_bench WORKERS KINDS ENDED_JOBS DEPENDENTS RETRIED\n", stderr);
    return 2;
  }
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  drover::Life life({number(1), number(2), number(3), number(4), number(5)});
  life.run();
  life.print();
}
