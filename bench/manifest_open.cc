#include <fmt/format.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/system_clock.h"
#include "manifest_bench.h"
#include "measure.h"
#include "store/sqlite_store.h"

namespace drover {

void open_half_finished(const std::string& database) {
  const Stopwatch whole;
  auto store = must(open_sqlite_store(database));
  const double store_seconds = whole.seconds();
  SystemWallClock wall;
  SystemSteadyClock steady;
  auto engine = must(Engine::start(*store, wall, steady, [](const Effect&) {}));
  const double load_seconds = whole.seconds() - store_seconds;
  // Another incarnation of the worker that held grants: they go back first, as after a crash.
  const auto incarnation = static_cast<std::uint64_t>(getpid()) + 2;
  const auto registered = std::get<WorkerRegistered>(must(engine->ask(RegisterWorker{"local", incarnation, 0})));
  Poll poll;
  poll.report.worker = registered.worker;
  poll.report.incarnation = incarnation;
  poll.number = PollNumber{1};
  poll.want = 512;
  const auto answer = std::get<PollAnswer>(must(engine->ask(poll)));
  const double seconds = whole.seconds();
  std::uint64_t leased = 0;
  for (const Lease& lease : answer.leases) leased += lease.count;
  fmt::print("{{\"seconds\":{:.6f},\"store_seconds\":{:.6f},\"load_seconds\":{:.6f},\"leased\":{},\"peak_kib\":{}}}\n",
             seconds, store_seconds, load_seconds, leased, peak_resident_kib());
}

}  // namespace drover
