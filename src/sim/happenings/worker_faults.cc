#include "sim/happenings/worker_faults.h"

#include <algorithm>

#include "base/text.h"
#include "sim/happenings/groups.h"
#include "sim/happenings/network_faults.h"
#include "sim/stage.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

class WorkerFaultWriter : public ScriptWriter {
 public:
  using ScriptWriter::ScriptWriter;

  bool write_fault(std::uint64_t roll, std::int64_t at_ms, std::size_t worker) override {
    switch (roll) {
      case 0:
      case 1: draft_.add(at_ms, CrashWorker{worker, draft_.short_or_long(5 * kSecond, 3 * kMinute)}); return true;
      case 2: draft_.add(at_ms, LoseMachine{worker, draft_.short_or_long(kMinute, 5 * kMinute)}); return true;
      case 3:
        draft_.add(at_ms, SpotNotice{worker, draft_.between(5 * kSecond, 2 * kMinute),
                                     draft_.short_or_long(kMinute, 5 * kMinute)});
        return true;
      case 4:
        draft_.add(at_ms, KillSlot{worker, random_.below(draft_.script.workers[worker].slots),
                                   draft_.between(0, 5 * kSecond)});
        return true;
      case 5: draft_.add(at_ms, DrainWorker{worker, draft_.between(0, kMinute)}); return true;
      case 15: draft_.add(at_ms, FenceWorker{worker}); return true;
      default: return false;
    }
  }

  void write_end() override {
    if (random_.one_in(12)) write_long_absence();
  }

 private:
  // A worker is away for longer than a server remembers it: its machine is off, or its line is cut.
  void write_long_absence() {
    const std::size_t worker = draft_.any_worker();
    const std::int64_t at_ms = draft_.between(0, draft_.script.length_ms);
    const std::int64_t for_ms = draft_.between(25 * kHour, 28 * kHour);
    if (random_.one_in(2)) return draft_.add(at_ms, Partition{worker, Cut::both, for_ms});
    draft_.add(at_ms, CrashWorker{worker, for_ms});
  }
};

/// Those who drain workers, fence them, and readmit them.
class WorkerKeepers : public WorldPart {
 public:
  explicit WorkerKeepers(Stage& stage) : stage_(stage) {}

  void drain(const std::string& worker) {
    stage_.clients.ask(AskToDrain{worker}, [this](const Effect& effect) {
      if (!std::holds_alternative<WorkerToBeGone>(effect) && !is_unknown(effect)) {
        stage_.auditor.fail("a worker could not be asked to drain");
      }
    });
  }

  void fence(const std::string& worker) {
    stage_.clients.ask(Fence{worker}, [this](const Effect& effect) {
      if (!std::holds_alternative<WorkerToBeGone>(effect) && !is_unknown(effect)) {
        stage_.auditor.fail("a worker could not be fenced");
      }
    });
  }

  // A worker that was given nothing is given some again when nothing is wrong with it any more.
  void tend() override {
    if (!stage_.server.up()) return;
    for (const auto& [id, it] : stage_.server.core().durable().workers) {
      const bool is_ill = std::ranges::any_of(
          stage_.workers, [&](const auto& worker) { return worker->name() == it.name && worker->is_spoilt(); });
      if (!it.quarantine.empty() && !is_ill) readmit(it.name);
    }
  }

  void committed(const Batch& batch, std::int64_t /*applied_ms*/) override {
    for (const Mutation& mutation : batch.mutations) {
      const auto* it = std::get_if<PutWorker>(&mutation);
      if (it == nullptr || it->worker.quarantine.empty() || stage_.auditor.may_be_quarantined(it->worker.name))
        continue;
      stage_.auditor.fail(concat(it->worker.name, ": in quarantine without a reason (", it->worker.quarantine, ")"));
    }
  }

 private:
  void readmit(const std::string& worker) {
    stage_.clients.ask(Readmit{worker}, [this](const Effect& effect) {
      const auto* refused = std::get_if<Refused>(&effect);
      const bool is_away = refused != nullptr && refused->error.code == ErrorCode::conflict;
      if (!std::holds_alternative<WorkerReadmitted>(effect) && !is_unknown(effect) && !is_away) {
        stage_.auditor.fail("a worker could not be readmitted");
      }
    });
  }

  Stage& stage_;
};

}  // namespace

HappeningGroup worker_faults() {
  return group_of<WorkerFaultWriter, WorkerKeepers>();
}

std::string CrashWorker::describe() const {
  return concat("worker ", worker, " crashes, back after ", down_ms, " ms");
}
void CrashWorker::happen(Stage& stage) const {
  stage.workers[worker]->crash(down_ms);
}

std::string LoseMachine::describe() const {
  return concat("worker ", worker, "'s machine is lost, another comes after ", down_ms, " ms");
}
void LoseMachine::happen(Stage& stage) const {
  stage.workers[worker]->lose_machine(down_ms);
}

std::string SpotNotice::describe() const {
  return concat("worker ", worker, "'s machine goes in ", notice_ms, " ms, another comes ", down_ms, " ms later");
}
void SpotNotice::happen(Stage& stage) const {
  stage.workers[worker]->give_notice(*this);
}

std::string KillSlot::describe() const {
  return concat("slot ", slot, " of worker ", worker, " dies, back after ", down_ms, " ms");
}
void KillSlot::happen(Stage& stage) const {
  stage.workers[worker]->kill_slot(*this);
}

std::string DrainWorker::describe() const {
  return concat("worker ", worker, " is told to drain, back ", down_ms, " ms after it left");
}
void DrainWorker::happen(Stage& stage) const {
  stage.workers[worker]->expect_drain(down_ms);
  stage.part<WorkerKeepers>().drain(stage.workers[worker]->name());
}

std::string FenceWorker::describe() const {
  return concat("worker ", worker, " is fenced");
}
void FenceWorker::happen(Stage& stage) const {
  stage.auditor.expect_fence(stage.workers[worker]->name());
  stage.part<WorkerKeepers>().fence(stage.workers[worker]->name());
}

std::string Spoil::describe() const {
  return concat("all fails on worker ", worker, " for ", for_ms, " ms");
}
void Spoil::happen(Stage& stage) const {
  stage.workers[worker]->spoil(*this);
}

}  // namespace drover::sim
