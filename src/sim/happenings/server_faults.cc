#include "sim/happenings/server_faults.h"

#include <algorithm>

#include "base/text.h"
#include "sim/happenings/groups.h"
#include "sim/happenings/worker_faults.h"
#include "sim/stage.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

class ServerFaultWriter : public ScriptWriter {
 public:
  using ScriptWriter::ScriptWriter;

  void write_hour(std::int64_t from_ms) override {
    if (random_.one_in(2)) write_restarts(from_ms);
  }

  bool write_fault(std::uint64_t roll, std::int64_t at_ms, std::size_t /*worker*/) override {
    switch (roll) {
      case 9:
      case 10:
      case 11:
        draft_.add(at_ms, CrashServer{any_point(), draft_.short_or_long(5 * kSecond, 5 * kMinute)});
        write_loss_before(at_ms);
        return true;
      case 12: draft_.add(at_ms, FillDisk{draft_.short_or_long(kMinute, 10 * kMinute)}); return true;
      case 13:
        draft_.add(at_ms, SlowDisk{draft_.between(50, 5 * kSecond), draft_.short_or_long(kMinute, 5 * kMinute)});
        return true;
      case 14: draft_.add(at_ms, JumpClock{draft_.between(-2 * kHour, 2 * kHour)}); return true;
      case 16:
      case 17:
        draft_.add(at_ms, StallServer{draft_.short_or_long(50 * kSecond, 2 * kMinute), random_.one_in(2)});
        return true;
      case 19:
        draft_.add(at_ms, CrashServer{any_point(), draft_.between(10 * kMinute, 90 * kMinute)});
        write_loss_before(at_ms);
        return true;
      case 20: draft_.add(at_ms, RefuseLogs{draft_.short_or_long(kMinute, 10 * kMinute)}); return true;
      default: return false;
    }
  }

 private:
  CrashPoint any_point() { return static_cast<CrashPoint>(random_.below(4)); }

  // What a machine held that is lost just before a crash is known to the server's disk alone.
  void write_loss_before(std::int64_t crash_ms) {
    if (!random_.one_in(3)) return;
    const std::size_t worker = draft_.any_worker();
    const LoseMachine loss{worker, draft_.between(0, kMinute)};
    draft_.add(std::max<std::int64_t>(0, crash_ms - draft_.between(0, 50 * kSecond)), loss);
  }

  // Results gather on a worker while the server is away, and then the worker restarts.
  void write_restarts(std::int64_t from_ms) {
    const std::int64_t at_ms = from_ms + draft_.between(0, 50 * kMinute);
    draft_.add(at_ms, CrashServer{CrashPoint::at_once, draft_.between(10 * kSecond, 35 * kSecond)});
    for (std::size_t worker = 0; worker < draft_.script.workers.size(); ++worker) {
      if (!random_.one_in(2)) continue;
      const CrashWorker crash{worker, draft_.between(0, 5 * kSecond)};
      draft_.add(at_ms + draft_.between(kSecond, 20 * kSecond), crash);
    }
  }
};

}  // namespace

HappeningGroup server_faults() {
  return group_of<ServerFaultWriter>();
}

std::string CrashServer::describe() const {
  constexpr const char* kWhere[] = {"at once", "before a commit", "after a commit", "between two commits"};
  return concat("the server crashes ", kWhere[static_cast<std::size_t>(point)], ", back after ", down_ms, " ms");
}
void CrashServer::happen(Stage& stage) const {
  stage.server.crash(*this);
}

std::string FillDisk::describe() const {
  return concat("the disk is full for ", down_ms, " ms");
}
void FillDisk::happen(Stage& stage) const {
  stage.server.fill_disk(*this);
}

std::string RefuseLogs::describe() const {
  return concat("the server has no room for logs for ", for_ms, " ms");
}
void RefuseLogs::happen(Stage& stage) const {
  stage.server.refuse_logs(*this);
}

std::string SlowDisk::describe() const {
  return concat("commits take ", commit_ms, " ms for ", for_ms, " ms");
}
void SlowDisk::happen(Stage& stage) const {
  stage.server.slow_down(*this);
}

std::string StallServer::describe() const {
  return concat(whole_process ? "the server is stopped for " : "a commit hangs for ", for_ms, " ms");
}
void StallServer::happen(Stage& stage) const {
  stage.server.stall(*this);
}

std::string JumpClock::describe() const {
  return concat("the wall clock jumps by ", by_ms, " ms");
}
void JumpClock::happen(Stage& stage) const {
  stage.auditor.expect_jumps();
  stage.server.jump_clock(*this);
}

}  // namespace drover::sim
