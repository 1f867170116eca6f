#include "sim/happenings/queues.h"

#include <map>

#include "base/text.h"
#include "sim/happenings/groups.h"
#include "sim/saturated.h"
#include "sim/stage.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

/// Only a crowd has queues.
class QueueWriter : public ScriptWriter {
 public:
  using ScriptWriter::ScriptWriter;

  void write_beginning() override {
    if (!draft_.crowd) return;
    Crowd& crowd = *draft_.crowd;
    crowd.begin_queues();
    for (std::uint64_t i = 0; i < crowd.queues(); ++i)
      draft_.add(0, ChangeQueue{queue(crowd.random(), concat("q", i))});
    for (std::int64_t from_ms = 0; from_ms < draft_.script.length_ms; from_ms += kHour) write_queues(crowd, from_ms);
  }

 private:
  void write_queues(Crowd& crowd, std::int64_t from_ms) {
    if (crowd.random().one_in(2)) {
      const std::int64_t at_ms = from_ms + crowd.between(0, kHour);
      const std::string name = crowd.queue_name();
      draft_.add(at_ms, ChangeQueue{queue(crowd.random(), name)});
    }
    if (crowd.random().one_in(2)) {
      const std::int64_t for_ms =
          crowd.random().one_in(2) ? crowd.between(0, kMinute) : crowd.between(kMinute, 30 * kMinute);
      const std::int64_t at_ms = from_ms + crowd.between(0, kHour);
      draft_.add(at_ms, CloseQueue{crowd.queue_name(), for_ms});
    }
    if (crowd.random().one_in(2)) {
      const std::int64_t at_ms = from_ms + crowd.between(0, kHour);
      draft_.add(at_ms, RemoveQueue{crowd.queue_name()});
    }
  }

  static Queue queue(Random& random, const std::string& name) {
    Queue queue{.name = name};
    queue.priority = static_cast<std::uint32_t>(random.below(3));
    if (random.one_in(3)) return queue;
    queue.order = QueueOrder::fair;
    queue.decay_s = random.one_in(3) ? 60 : random.one_in(2) ? 600 : 7200;
    if (random.one_in(3)) queue.reserved_percent = static_cast<std::uint32_t>(random.below(90));
    if (random.one_in(2)) queue.weights = {{"ann", 20'000}, {"team-*", 5'000}};
    return queue;
  }
};

/// Those who look after queues.
class QueueKeepers : public WorldPart {
 public:
  explicit QueueKeepers(Stage& stage) : stage_(stage) {}

  void change(const Queue& queue) {
    queues_[queue.name].queue = queue;
    tell(queue.name);
  }

  void close(const std::string& name, std::int64_t for_ms) {
    queues_[name].queue.name = name;
    ++queues_[name].closed;
    tell(name);
    stage_.events.after(for_ms, [this, name] {
      --queues_[name].closed;
      tell(name);
    });
  }

  // One with unended jobs stays, and one that is gone may be asked for twice.
  void remove(const std::string& queue) {
    stage_.clients.ask(DropQueue{queue}, [this](const Effect& effect) {
      const auto* refused = std::get_if<Refused>(&effect);
      const bool may_be = std::holds_alternative<QueueDropped>(effect) ||
                          (refused != nullptr && refused->error.code == ErrorCode::conflict) || is_unknown(effect);
      if (!may_be) stage_.auditor.fail("the deletion of a queue got another answer");
    });
  }

  // Sees to it that queues are as they shall be: an order to close one may have overtaken the one to open it.
  void tend() override {
    if (!stage_.server.up()) return;
    for (const auto& [name, it] : queues_) {
      const Queue* known = stage_.server.core().durable().find_queue(name);
      if (known == nullptr || known->enabled != (it.closed == 0)) tell(name);
    }
  }

  void at_end() override {
    if (!stage_.script.is_saturated || stage_.auditor.failure()) return;
    if (const auto wrong = unfair_share(stage_.script, stage_.auditor.cpu_ms())) stage_.auditor.fail(*wrong);
  }

 private:
  struct Kept {
    Queue queue;
    int closed = 0;  // how often
  };

  void tell(const std::string& name) {
    Queue queue = queues_.at(name).queue;
    queue.enabled = queues_.at(name).closed == 0;
    stage_.clients.ask(SetQueue{queue}, [this](const Effect& effect) {
      if (!std::holds_alternative<QueueSet>(effect)) stage_.auditor.fail("a queue was refused");
    });
  }

  Stage& stage_;
  std::map<std::string, Kept> queues_;
};

}  // namespace

HappeningGroup queue_happenings() {
  return group_of<QueueWriter, QueueKeepers>();
}

std::string ChangeQueue::describe() const {
  std::string out = concat("queue ", queue.name, ": priority ", queue.priority);
  if (queue.order == QueueOrder::fair) {
    out += concat(", fair, decay ", queue.decay_s, " s, ", queue.reserved_percent, " % reserved");
  }
  for (const ShareWeight& weight : queue.weights) out += concat(", ", weight.share, " counts ", weight.weight);
  return out;
}
void ChangeQueue::happen(Stage& stage) const {
  stage.part<QueueKeepers>().change(queue);
}

std::string CloseQueue::describe() const {
  return concat("queue ", queue, " is disabled for ", for_ms, " ms");
}
void CloseQueue::happen(Stage& stage) const {
  stage.part<QueueKeepers>().close(queue, for_ms);
}

std::string RemoveQueue::describe() const {
  return concat("queue ", queue, " is deleted");
}
void RemoveQueue::happen(Stage& stage) const {
  stage.part<QueueKeepers>().remove(queue);
}

}  // namespace drover::sim
