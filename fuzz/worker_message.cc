// What a worker sends: every message, and what a core makes of a poll or a report in the name of a real worker.
#include "core/core.h"
#include "core/sanity.h"
#include "fuzzed.h"
#include "wire/worker_protocol.h"

namespace drover {
namespace {

/// A job of a few items, some of them in the hands of worker 1.
Core busy_core() {
  Core core;
  std::int64_t now_ms = 1'000'000;
  core.apply(Ticket{1}, SubmitJob{{.name = "job", .policy = {.max_tries = 2}}, 20}, ++now_ms);
  core.apply(Ticket{2}, RegisterWorker{"worker", 7, 60'000}, ++now_ms);
  core.apply(
      Ticket{3},
      Poll{.report = {WorkerId{1}, 7, {}, {}, {}}, .number = PollNumber{1}, .given_up = {}, .want = 5, .wait_ms = 0},
      ++now_ms);
  return core;
}

void check_frames(const Report& report, const std::vector<std::string>& frames,
                  const std::vector<std::vector<std::uint32_t>>& ended_frames) {
  DROVER_CHECK(ended_frames.size() == report.ended.size(), "everything that ended has its list of frames");
  for (const auto& mine : ended_frames) {
    for (const std::uint32_t frame : mine) DROVER_CHECK(frame < frames.size(), "every frame that is named is there");
  }
}

/// As an engine does it: what has changed is taken to be stored.
void apply(Core& core, Ticket ticket, const Command& command, std::int64_t now_ms) {
  core.apply(ticket, command, now_ms);
  static_cast<void>(core.take_mutations());
  const auto fault = find_fault(core);
  DROVER_CHECK(!fault, fault ? fault->c_str() : "");
}

void tell(const Command& command) {
  Core core = busy_core();
  apply(core, Ticket{9}, command, 2'000'000);
  apply(core, Ticket{10}, Tick{}, 3'000'000);
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  if (auto poll = decode_poll(bytes)) {
    check_frames(poll->poll.report, poll->frames, poll->ended_frames);
    DROVER_CHECK(encode(*decode_poll(encode(*poll))) == encode(*poll), "a poll is read back");
    poll->poll.report.worker = WorkerId{1};
    poll->poll.report.incarnation = 7;
    tell(poll->poll);
  }
  if (auto report = decode_report(bytes)) {
    check_frames(report->report, report->frames, report->ended_frames);
    report->report.worker = WorkerId{1};
    report->report.incarnation = 7;
    tell(report->report);
  }
  if (const auto hello = decode_hello(bytes))
    DROVER_CHECK(decode_hello(encode(*hello)) == *hello, "a hello is read back");
  static_cast<void>(decode_item_range(bytes));
  static_cast<void>(decode_job_number(bytes));
  if (const auto upload = decode_upload(bytes)) {
    for (const WorkerUpload::Shown& shown : upload->shown) {
      for (const std::uint32_t frame : shown.frames) {
        DROVER_CHECK(frame < upload->frames.size(), "every frame that is shown is there");
      }
    }
    DROVER_CHECK(decode_upload(encode(*upload)).value() == *upload, "an upload is read back");
  }
  static_cast<void>(decode_texts(bytes));
}

}  // namespace drover
