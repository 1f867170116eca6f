#include "sim/why_probe.h"

#include <algorithm>

#include "base/text.h"
#include "sim/twin.h"
#include "sim/why_facts.h"

namespace drover::sim {
namespace {

class Lifter {
 public:
  Lifter(const Core& core, JobId job, std::optional<ItemIndex> item, std::map<WhyCode, std::uint64_t>& lifted)
      : twin_(core), job_(job), item_(item), lifted_(lifted) {}

  std::optional<std::string> run() {
    // Each time something is gone from before it.
    const std::uint64_t items = item_ ? item_->value + twin_.core().volatile_part().jobs.at(job_).ready.size() : 0;
    std::uint64_t left = 60 + 2 * durable().jobs.size() + items;
    Why last{.code = WhyCode::next, .sentence = {}};
    for (; left > 0; --left) {
      // What a core has learned of how long items take is not in its records, and so in no copy of a copy.
      twin_ = Twin(twin_.core());
      const Why said = why(twin_.core(), job_, item_);
      if (auto wrong = untruth(twin_.core(), job_, item_, said)) return wrong;
      if (is_over(said)) return std::nullopt;
      if (lasts_not(said.code) && said.code == last.code && said.sentence == last.sentence) {
        return concat("'", said.sentence, "' is said again after it was lifted");
      }
      if (auto wrong = lift(said)) return concat(*wrong, ", after '", said.sentence, "'");
      ++lifted_[said.code];
      if (is_given_) return std::nullopt;
      last = said;
    }
    return concat("is not handed out, whatever is lifted; the last reason was '", last.sentence, "'");
  }

 private:
  const Durable& durable() const { return twin_.core().durable(); }
  const Job& job() const { return durable().jobs.at(job_); }
  /// Those who could run it and take items.
  std::vector<const Worker*> takers() const { return takers_of(twin_.core(), job(), item_); }
  static bool is_over(const Why& said) {
    return said.code == WhyCode::ended || said.code == WhyCode::running || said.code == WhyCode::handed_out;
  }
  // Reasons that are gone for good when they are lifted.
  static bool lasts_not(WhyCode code) {
    return code != WhyCode::no_message && code != WhyCode::most_running && code != WhyCode::busy &&
           code != WhyCode::next && code != WhyCode::behind;
  }

  std::optional<std::string> lift(const Why& said) {
    switch (said.code) {
      case WhyCode::stopping:
      case WhyCode::most_running: twin_.end_all_of(job_); break;
      case WhyCode::after_job: twin_.make_succeed(said.job ? said.job : job_); break;
      case WhyCode::after_item: lift_forerunner(said.job); break;
      case WhyCode::before_it: twin_.make_succeed(job_, ItemIndex{0}, item_.value_or(ItemIndex{0})); break;
      case WhyCode::queue_disabled: change_queue([](Queue& queue) { queue.enabled = true; }); break;
      case WhyCode::no_message: send_message(); break;
      case WhyCode::sheltered:
      case WhyCode::retry_delay: twin_.wait_until(said.until_ms); break;
      case WhyCode::machine_coming: return let_join(said);
      case WhyCode::no_worker:
      case WhyCode::nobody_suits: add_worker_for(job()); break;
      case WhyCode::set_apart: return lift_apart();
      case WhyCode::share_held_back: change_queue([](Queue& queue) { queue.reserved_percent = 0; }); break;
      case WhyCode::behind: return lift_those_ahead(said);
      case WhyCode::busy: return ask_as_who_is_busy(said);
      case WhyCode::next: return ask_as_who_is_free(said);
      default: break;
    }
    return std::nullopt;
  }

  void add_worker_for(const Job& job) {
    Labels labels = job.require;
    if (job.spot.use == SpotUse::only) labels[std::string(kMarketLabel)] = kSpotMarket;
    twin_.add_worker({at_least_some(job.ask), std::move(labels)});
  }
  static Resources at_least_some(Resources ask) { return ask.at_least({.milli_cpus = 1}); }

  // Of a job as a whole: all items that it waits for.
  void lift_forerunner(JobId other) {
    if (!other) return twin_.make_succeed(job_);
    if (!item_) return twin_.make_succeed(other);
    twin_.make_succeed(other, *item_, ItemIndex{item_->value + 1});
  }

  // The worker of the machine that is said to come registers, as it would.
  std::optional<std::string> let_join(const Why& said) {
    const auto machine = durable().machines.find(said.machine);
    if (machine == durable().machines.end()) return "nobody knows the machine that is said to come";
    RegisterWorker hello{.name = said.machine, .incarnation = 1, .has = machine->second.has};
    hello.labels = {{"fleet", machine->second.fleet}, {"shape", machine->second.shape}};
    hello.fleet = machine->second.fleet;
    twin_.ask(hello);
    return std::nullopt;
  }

  void send_message() {
    const std::string& stream = job().stream;
    const bool fifo = stream.ends_with(".fifo");
    twin_.ask(SetStream{StreamSpec{.name = stream, .fifo = fifo}, std::nullopt});
    NewMessage message{.content = std::make_shared<const std::string>("one more")};
    if (fifo) message.group = message.deduplication = concat("one more ", ++sent_);
    twin_.ask(SendMessages{stream, {std::move(message)}});
  }

  template <class Change>
  void change_queue(Change change) {
    const Queue* known = durable().find_queue(job().place.queue);
    Queue queue = known == nullptr ? Queue{.name = job().place.queue} : *known;
    change(queue);
    twin_.ask(SetQueue{queue});
  }

  std::optional<std::string> lift_apart() {
    std::vector<Worker> suiting;
    for (const auto& [id, worker] : durable().workers) {
      if (is_alive(twin_.core(), worker) && may_run(durable(), worker, job())) suiting.push_back(worker);
    }
    for (const Worker& worker : suiting) {
      if (!worker.quarantine.empty()) twin_.ask(Readmit{worker.name});
      const bool is_draining = twin_.core().volatile_part().sessions.at(worker.id).drain.is_draining();
      // A machine that is to go is drained again, whatever its worker does: another takes its place.
      if (is_draining && durable().machines.contains(worker.name)) {
        add_worker_for(job());
      } else if (is_draining) {
        twin_.begin_anew(worker);
      }
      if (twin_.core().volatile_part().sessions.at(worker.id).polls.waits()) twin_.ask_for_one(worker.id);
    }
    return std::nullopt;
  }

  // Another job came first, whoever it was, where one that could run this one asked.
  std::optional<std::string> lift_those_ahead(const Why& said) {
    const Place& mine = twin_.core().volatile_part().places.at(job_);
    const Schedule::ShareId share = twin_.core().volatile_part().places.at(said.job).share;
    const std::string queue = durable().jobs.at(said.job).place.queue;
    if ((share == mine.share) != (said.places > 0)) return "another share is said to be the same";
    std::vector<JobId> ahead;
    for (const JobId id : twin_.core().volatile_part().runnable) {
      const Job& other = durable().jobs.at(id);
      const Place& index = twin_.core().volatile_part().places.at(id);
      if (id == job_ || !index.offered) continue;
      const bool first =
          other.place.priority > job().place.priority || (other.place.priority == job().place.priority && id < job_);
      const bool same_queue = queue == job().place.queue;
      if (share == mine.share ? index.share == share && first
          : same_queue        ? index.share == share
                              : other.place.queue == queue) {
        ahead.push_back(id);
      }
    }
    if (std::ranges::find(ahead, said.job) == ahead.end()) return "the one that is said to be ahead is not";
    if (!is_overtaken()) return "nobody comes first, wherever it could run";
    for (const JobId id : ahead) twin_.ask(CancelJob{id, "to see what is left"});
    return std::nullopt;
  }

  /// One worker of each kind among those that could run it.
  std::map<Supply, WorkerId> taker_of_each_kind() const {
    std::map<Supply, WorkerId> takers_by_kind;
    for (const Worker* worker : takers()) takers_by_kind.emplace(supply_of(*worker), worker->id);
    return takers_by_kind;
  }

  /// Whether a worker that could run it would be given something else if it became free now.
  bool is_overtaken() const {
    return std::ranges::any_of(taker_of_each_kind(), [&](const auto& it) {
      Twin other(twin_.core());
      const auto leases = other.ask_for_one(it.second);
      return leases.empty() || leases[0].job != job_;
    });
  }

  // It is next: whichever of those who could run it becomes free is given it. The workers that are there ask, as if
  // what they run had left its room. One more worker would also raise the capacity, and a share that was held back by
  // the reserve might then come first, with each worker that is added.
  std::optional<std::string> ask_as_who_is_busy(const Why& said) {
    const std::map<Supply, WorkerId> takers_by_kind = taker_of_each_kind();
    for (const auto& [kind, worker] : takers_by_kind) {
      Twin other(twin_.core());
      const auto leases = other.ask_for_one(worker);
      if (leases.empty() || leases[0].job != job_) return "a worker that became free was not given it";
    }
    return hear(said, twin_.ask_for_one(takers_by_kind.begin()->second));
  }

  std::optional<std::string> ask_as_who_is_free(const Why& said) {
    for (const Worker* worker : takers()) {
      const bool is_free = twin_.core().volatile_part().worker_grants.at(worker->id).empty();
      if (is_free) return hear(said, twin_.ask_for_one(worker->id));
    }
    return "nobody is free";
  }

  std::optional<std::string> hear(const Why& said, const std::vector<Lease>& leases) {
    if (!leases.empty() && leases[0].job == job_) {
      const std::uint64_t offset = item_ ? item_->value - leases[0].first.value : 0;
      is_given_ = !item_ || (*item_ >= leases[0].first && offset < leases[0].count);
      const bool others_first = said.sentence.find(" of its job come") != std::string::npos;
      if (!is_given_ && !others_first) return "another item of its job came first";
      return std::nullopt;
    }
    return leases.empty() ? "whoever was free was given nothing" : "whoever was free was given another job";
  }

  std::uint64_t sent_ = 0;
  Twin twin_;
  const JobId job_;
  const std::optional<ItemIndex> item_;
  std::map<WhyCode, std::uint64_t>& lifted_;
  bool is_given_ = false;
};

std::string named(const Core& core, JobId job, std::optional<ItemIndex> item) {
  return concat(core.durable().jobs.at(job).name, item ? concat(":", item->value) : "");
}

}  // namespace

std::optional<std::string> untruth(const Core& core, JobId job, std::optional<ItemIndex> item, const Why& why) {
  if (is_true_of(core, core.durable().jobs.at(job), item, why)) return std::nullopt;
  return concat("why ", named(core, job, item), " (", to_string(why.code), ") is not true: ", why.sentence);
}

std::optional<std::string> lift_reasons(const Core& core, JobId job, std::optional<ItemIndex> item,
                                        std::map<WhyCode, std::uint64_t>& lifted) {
  const Why said = why(core, job, item);
  if (auto wrong = untruth(core, job, item, said)) return wrong;
  if (auto wrong = Lifter(core, job, item, lifted).run()) return concat("why ", named(core, job, item), ": ", *wrong);
  return std::nullopt;
}

}  // namespace drover::sim
