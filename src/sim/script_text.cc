// A script in words, for people.
#include "base/text.h"
#include "sim/script.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

std::string clock_text(std::int64_t ms) {
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  const std::int64_t rest = ms % 1000;
  return concat(two(ms / kHour), ":", two(ms / kMinute % 60), ":", two(ms / kSecond % 60), ".", rest < 100 ? "0" : "",
                two(rest));
}

std::string text_of(const Resources& resources, const Labels& labels) {
  std::string out;
  if (resources != Resources{} && resources != Resources::endless()) {
    out += concat(", ", resources.milli_cpus, " mCPU, ", resources.memory_bytes, " B");
    for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
      if (resources.accelerators[kind] > 0)
        out += concat(", ", resources.accelerators[kind], " ", kAcceleratorNames[kind]);
    }
  }
  for (const auto& [name, value] : labels) out += concat(", ", name, "=", value);
  return out;
}

std::string place_of(const Submit& it) {
  std::string out;
  if (it.place != JobPlace{}) {
    out += concat("; queue ", it.place.queue, ", share '", it.place.share, "', priority ", it.place.priority);
  }
  for (const Forerunner& after : it.after) out += concat(after.each ? ", item by item" : "", ", after job ", after.job);
  if (it.sequential) out += ", one after the other";
  if (it.max_running > 0) out += concat(", at most ", it.max_running, " at a time");
  if (it.job_timeout_ms > 0) out += concat(", stopped after ", it.job_timeout_ms, " ms");
  return out;
}

struct Describer {
  std::string operator()(const Submit& it) const {
    return concat(
        "submit job ", it.job, ": ", it.total, " items of ", it.nature.typical_ms, " ms, ", it.nature.fail_percent,
        "% fail, ", it.nature.hang_percent, "% hang; tries ", it.policy.max_tries, ", lost limit ",
        it.policy.lost_limit, ", retry after ", it.policy.retry_delay_ms, " ms, timeout ", it.policy.timeout_ms,
        " ms, grace ", it.policy.grace_ms, " ms, ", it.policy.rules.size(), " rules", text_of(it.ask, it.require),
        it.policy.max_failures == Policy::kNoLimit ? std::string()
                                                   : concat(", at most ", it.policy.max_failures, " failures"),
        place_of(it), it.image > 0 ? concat(", in image ", it.image) : std::string());
  }
  std::string operator()(const Cancel& it) const { return concat("cancel job ", it.job); }
  std::string operator()(const Retry& it) const { return concat("retry job ", it.job); }
  std::string operator()(const ChangeQueue& it) const {
    std::string out = concat("queue ", it.queue.name, ": priority ", it.queue.priority);
    if (it.queue.order == QueueOrder::fair) {
      out += concat(", fair, decay ", it.queue.decay_s, " s, ", it.queue.reserved_percent, " % reserved");
    }
    for (const ShareWeight& weight : it.queue.weights) out += concat(", ", weight.share, " counts ", weight.weight);
    return out;
  }
  std::string operator()(const CloseQueue& it) const {
    return concat("queue ", it.queue, " is disabled for ", it.for_ms, " ms");
  }
  std::string operator()(const RemoveQueue& it) const { return concat("queue ", it.queue, " is deleted"); }
  std::string operator()(const WatchItem& it) const {
    return concat("somebody follows item ", it.item.value, " of job ", it.job);
  }
  std::string operator()(const FenceWorker& it) const { return concat("worker ", it.worker, " is fenced"); }
  std::string operator()(const StallServer& it) const {
    return concat(it.whole_process ? "the server is stopped for " : "a commit hangs for ", it.for_ms, " ms");
  }
  std::string operator()(const RegistryOutage& it) const {
    return concat("no image can be fetched for ", it.for_ms, " ms");
  }
  std::string operator()(const Spoil& it) const {
    return concat("all fails on worker ", it.worker, " for ", it.for_ms, " ms");
  }
  std::string operator()(const CrashWorker& it) const {
    return concat("worker ", it.worker, " crashes, back after ", it.down_ms, " ms");
  }
  std::string operator()(const LoseMachine& it) const {
    return concat("worker ", it.worker, "'s machine is lost, another comes after ", it.down_ms, " ms");
  }
  std::string operator()(const SpotNotice& it) const {
    return concat("worker ", it.worker, "'s machine goes in ", it.notice_ms, " ms, another comes ", it.down_ms,
                  " ms later");
  }
  std::string operator()(const KillSlot& it) const {
    return concat("slot ", it.slot, " of worker ", it.worker, " dies, back after ", it.down_ms, " ms");
  }
  std::string operator()(const DrainWorker& it) const {
    return concat("worker ", it.worker, " is told to drain, back ", it.down_ms, " ms after it left");
  }
  std::string operator()(const Partition& it) const {
    const char* how = it.cut == Cut::both ? "both ways" : it.cut == Cut::to_server ? "to the server" : "to the worker";
    return concat("worker ", it.worker, " is cut off (", how, ") for ", it.for_ms, " ms");
  }
  std::string operator()(const CrashServer& it) const {
    constexpr const char* kWhere[] = {"at once", "before a commit", "after a commit", "between two commits"};
    return concat("the server crashes ", kWhere[static_cast<std::size_t>(it.point)], ", back after ", it.down_ms,
                  " ms");
  }
  std::string operator()(const FillDisk& it) const { return concat("the disk is full for ", it.down_ms, " ms"); }
  std::string operator()(const RefuseLogs& it) const {
    return concat("the server has no room for logs for ", it.for_ms, " ms");
  }
  std::string operator()(const SlowDisk& it) const {
    return concat("commits take ", it.commit_ms, " ms for ", it.for_ms, " ms");
  }
  std::string operator()(const JumpClock& it) const { return concat("the wall clock jumps by ", it.by_ms, " ms"); }
  std::string operator()(const BadWeather& it) const {
    return concat("of 1000 packets ", it.loss_permille, " are lost and ", it.double_permille, " doubled, delayed by ",
                  it.most_delay_ms, " ms at most, for ", it.for_ms, " ms");
  }
};

}  // namespace

std::string image_name(std::uint32_t image) {
  return concat("image-", image);
}

std::string describe(const ScriptEvent& event) {
  return clock_text(event.at_ms) + "  " + std::visit(Describer{}, event.what);
}

std::string describe(const Script& script) {
  std::string out = concat("seed ", script.seed, ", ", script.workers.size(), " workers with slots");
  for (const WorkerPlan& worker : script.workers)
    out += concat(" ", worker.slots, worker.strict_lease ? "(strict)" : "", text_of(worker.has, worker.labels),
                  worker.joins_ms > 0 ? concat(" (joins at ", clock_text(worker.joins_ms), ")") : std::string());
  out += '\n';
  for (const ScriptEvent& event : script.events) out += "  " + describe(event) + "\n";
  return out;
}

}  // namespace drover::sim
