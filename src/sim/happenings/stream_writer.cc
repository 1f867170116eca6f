// Which streams a script has, and who uses them when.
#include "sim/happenings/groups.h"
#include "sim/happenings/jobs.h"
#include "sim/happenings/streams.h"
#include "sim/stream_clients.h"
#include "sim/times.h"

namespace drover::sim {
namespace {

constexpr const char* kPassing = "passing";     // is deleted now and then
constexpr const char* kBrief = "brief";         // keeps messages for minutes
constexpr std::uint64_t kFirstJob = 1'000'000;  // other jobs have lower numbers

class StreamWriter : public ScriptWriter {
 public:
  explicit StreamWriter(ScriptDraft& draft) : ScriptWriter(draft), own_(draft.script.seed ^ 0x6d657373) {}

  void write_beginning() override {
    StreamSpec work{.name = "work", .max_receives = 1 + own_.below(4), .dead_letters = "dead"};
    StreamSpec steps{.name = "steps.fifo", .fifo = true, .visibility_ms = between(2 * kSecond, kMinute)};
    if (own_.one_in(3)) steps.delay_ms = between(kSecond, 2 * kMinute);
    StreamSpec tries{
        .name = "tries.fifo", .fifo = true, .max_receives = 1 + own_.below(4), .dead_letters = "dead.fifo"};
    tries.deduplicates_by_group = own_.one_in(2);
    StreamSpec brief{.name = kBrief, .retention_ms = between(kShortestRetentionMs, 10 * kMinute)};
    StreamSpec passing{.name = kPassing};
    if (own_.one_in(2)) passing.delay_ms = between(kSecond, 5 * kMinute);
    for (const StreamSpec& spec : {work, steps, tries, brief, passing, StreamSpec{.name = "dead"},
                                   StreamSpec{.name = "dead.fifo", .fifo = true}}) {
      specs_.push_back(spec);
      draft_.add(0, ChangeStream{spec});
    }
  }

  void write_hour(std::int64_t from_ms) override {
    const std::uint64_t scenes = 1 + own_.below(2);
    for (std::uint64_t i = 0; i < scenes; ++i) write_scene(from_ms + between(0, kHour - 1));
    if (own_.one_in(2)) write_patient_attempts(from_ms + between(0, kHour - 1));
    if (own_.one_in(4)) draft_.add(from_ms + between(0, kHour - 1), EmptyStream{any_stream().name});
    if (own_.one_in(4)) draft_.add(from_ms + between(0, kHour - 1), RemoveStream{kPassing});
    if (!own_.one_in(4)) return;
    StreamSpec changed = any_stream();
    changed.text = "{\"since\":" + std::to_string(from_ms) + "}";
    draft_.add(from_ms + between(0, kHour - 1), ChangeStream{changed});
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(own_.below(static_cast<std::uint64_t>(high - low + 1)));
  }
  const StreamSpec& any_stream() { return specs_[own_.below(specs_.size())]; }

  // Somebody sends, and others receive at about the same time.
  void write_scene(std::int64_t at_ms) {
    // Two in three use those with the strictest rules, which come first.
    const StreamSpec& stream = own_.one_in(3) ? any_stream() : specs_[own_.below(4)];
    SendToStream send{
        .stream = stream.name, .messages = 1 + own_.below(25), .at_once = 1 + own_.below(kMostSentAtOnce)};
    send.groups = 1 + own_.below(4);
    if (own_.one_in(3)) send.delay_ms = own_.one_in(2) ? between(0, kMinute) : between(0, kLongestDelayMs);
    send.pause_ms = own_.one_in(2) ? 0 : between(0, 20 * kSecond);
    send.doubts = own_.one_in(2);
    draft_.add(at_ms, send);
    if (stream.name == kBrief && own_.one_in(2)) return;  // they expire
    const std::uint64_t crews = 1 + own_.below(2);
    for (std::uint64_t i = 0; i < crews; ++i) {
      const std::int64_t begin_ms = at_ms + between(0, 10 * kMinute);
      if (own_.one_in(2)) write_job(begin_ms, stream.name);
      if (own_.one_in(2)) write_receivers(begin_ms, stream);
    }
    if (!stream.dead_letters.empty() && own_.one_in(2)) write_receivers(at_ms, {.name = stream.dead_letters});
    if (own_.one_in(4)) return;
    write_sweep(at_ms + between(10 * kMinute, 20 * kMinute), stream.name);
    if (!stream.dead_letters.empty()) write_sweep(at_ms + between(20 * kMinute, 30 * kMinute), stream.dead_letters);
  }

  // Attempts wait for messages that come one by one. Some end before there is one for them.
  void write_patient_attempts(std::int64_t at_ms) {
    const std::string& stream = specs_[own_.below(4)].name;
    SendToStream send{.stream = stream, .messages = 5 + own_.below(20), .groups = 4};
    send.pause_ms = kLongestReceiveWaitMs;
    draft_.add(at_ms, send);
    ReceiveFromStream receive{.stream = stream, .receivers = 1 + own_.below(4), .for_ms = 5 * kMinute};
    receive.wait_ms = kLongestReceiveWaitMs;
    receive.are_attempts = true;
    draft_.add(at_ms, receive);
  }

  void write_receivers(std::int64_t at_ms, const StreamSpec& stream) {
    ReceiveFromStream receive{.stream = stream.name, .receivers = 1 + own_.below(3)};
    receive.for_ms = own_.one_in(4) ? between(0, 10 * kMinute) : between(0, 2 * kMinute);
    receive.at_once = own_.one_in(2) ? 1 : 1 + own_.below(kMostReceivedAtOnce);
    if (own_.one_in(2)) receive.visibility_ms = own_.one_in(4) ? between(0, 10 * kMinute) : between(0, kMinute);
    const std::int64_t visibility_ms = receive.visibility_ms.value_or(stream.visibility_ms);
    if (!own_.one_in(4)) receive.wait_ms = between(kSecond, kLongestReceiveWaitMs);
    receive.work_ms = own_.one_in(3) ? 0 : between(0, 2 * visibility_ms);
    receive.fail_percent = own_.one_in(3) ? 0 : own_.below(own_.one_in(4) ? 101 : 40);
    receive.are_attempts = own_.one_in(2);
    draft_.add(at_ms, receive);
  }

  // A job whose items are messages.
  void write_job(std::int64_t at_ms, const std::string& stream) {
    Submit submit;
    submit.job = kFirstJob + ++jobs_;
    submit.stream = stream;
    submit.until_empty = !own_.one_in(3);
    submit.nature = {.seed = own_.next(), .typical_ms = between(50, 20 * kSecond)};
    submit.nature.fail_percent = own_.one_in(3) ? 0 : static_cast<std::uint32_t>(own_.below(50));
    submit.policy.max_tries = static_cast<std::uint32_t>(1 + own_.below(3));
    if (own_.one_in(3)) submit.policy.lost_limit = static_cast<std::uint32_t>(1 + own_.below(3));
    if (own_.one_in(3)) submit.policy.retry_delay_ms = between(1, kMinute);
    if (own_.one_in(6)) submit.policy.max_failures = own_.below(5);
    if (own_.one_in(4)) submit.max_running = 1 + own_.below(3);
    draft_.add(at_ms, submit);
    const bool is_cancelled = submit.is_open_ended() || own_.one_in(4);
    if (is_cancelled) draft_.add(at_ms + between(0, 20 * kMinute), Cancel{submit.job});
  }

  // Somebody who takes what is left.
  void write_sweep(std::int64_t at_ms, const std::string& stream) {
    ReceiveFromStream receive{.stream = stream, .for_ms = kMinute, .at_once = kMostReceivedAtOnce};
    receive.wait_ms = kLongestReceiveWaitMs;
    draft_.add(at_ms, receive);
  }

  Random own_;
  std::vector<StreamSpec> specs_;
  std::uint64_t jobs_ = 0;
};

}  // namespace

HappeningGroup stream_happenings() {
  return group_of<StreamWriter, StreamClients>();
}

}  // namespace drover::sim
