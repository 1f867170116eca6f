#include "wire/worker_protocol.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "base/usage_bounds.h"
#include "worker.pb.h"

namespace drover {
namespace {

/// A count that somebody else sent, before memory is taken for it.
constexpr std::uint64_t kMostLeased = 1'000'000;
constexpr int kMostRunning = 100'000;
constexpr int kMostNamed = 100'000;
// A worker that cannot reach its server gives up a poll every ten seconds at most: more than a hundred days of them.
constexpr int kMostGivenUp = 1'000'000;
/// What is kept of a text for people.
constexpr std::size_t kLongestText = 8'192;
constexpr std::size_t kLongestVersion = 128;
constexpr std::uint64_t kMostLogBytes = std::uint64_t{1} << 60;

std::unexpected<Error> malformed(std::string_view what) {
  return fail(ErrorCode::bad_input, std::string(what) + " is malformed", "use the same version for worker and server");
}

template <class Message>
std::string bytes_of(const Message& message) {
  std::string bytes;
  message.SerializeToString(&bytes);
  return bytes;
}

template <class Message>
bool parse(Message& message, std::string_view bytes) {
  return bytes.size() < std::numeric_limits<int>::max() &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

template <class Enum>
bool take_enum(std::uint32_t number, Enum last, Enum& out) {
  if (number > static_cast<std::uint32_t>(last)) return false;
  out = static_cast<Enum>(number);
  return true;
}

template <class Message>
void put_resources(Message& out, const Resources& resources) {
  out.set_milli_cpus(resources.milli_cpus);
  out.set_memory_bytes(resources.memory_bytes);
  if (resources.accelerators == decltype(resources.accelerators){}) return;
  for (const std::uint64_t count : resources.accelerators) out.add_accelerators(count);
}

template <class Message>
Resources resources_of(const Message& in) {
  Resources out{in.milli_cpus(), in.memory_bytes(), {}};
  for (int i = 0; i < in.accelerators_size() && i < static_cast<int>(kAccelerators); ++i) {
    out.accelerators[static_cast<std::size_t>(i)] = in.accelerators(i);
  }
  return out.at_most(Resources::endless());
}

void put(proto::Usage& out, const Usage& usage) {
  out.set_started_ms(usage.started_ms);
  out.set_wall_us(usage.wall_us);
  out.set_user_us(usage.user_us);
  out.set_system_us(usage.system_us);
  out.set_peak_memory_kib(usage.peak_memory_kib);
  out.set_read_bytes(usage.read_bytes);
  out.set_written_bytes(usage.written_bytes);
  out.set_gpu_busy_us(usage.gpu_busy_us);
  out.set_peak_gpu_memory_kib(usage.peak_gpu_memory_kib);
  out.set_gpu_energy_mj(usage.gpu_energy_mj);
}

Usage usage_of(const proto::Usage& in) {
  return bounded({.started_ms = in.started_ms(),
                  .wall_us = in.wall_us(),
                  .user_us = in.user_us(),
                  .system_us = in.system_us(),
                  .peak_memory_kib = in.peak_memory_kib(),
                  .read_bytes = in.read_bytes(),
                  .written_bytes = in.written_bytes(),
                  .gpu_busy_us = in.gpu_busy_us(),
                  .peak_gpu_memory_kib = in.peak_gpu_memory_kib(),
                  .gpu_energy_mj = in.gpu_energy_mj()});
}

void put(proto::Ended& out, const EndedAttempt& ended) {
  out.set_grant(ended.token.grant.value);
  out.set_item(ended.token.item.value);
  out.set_ending(static_cast<std::uint32_t>(ended.outcome.ending));
  out.set_exit_code(ended.outcome.exit_code);
  out.set_signal(ended.outcome.signal);
  if (!ended.outcome.reason.empty()) out.set_reason(ended.outcome.reason);
  put(*out.mutable_usage(), ended.usage);
  out.set_slot(ended.slot);
  out.set_log_bytes(ended.log.bytes);
  if (!ended.log.last_line.empty()) out.set_last_line(ended.log.last_line);
  if (!ended.log.extents.value.empty()) out.set_extents(ended.log.extents.value);
}

bool take(const proto::Ended& in, EndedAttempt& out) {
  out.token = {GrantId{in.grant()}, ItemIndex{in.item()}};
  if (!take_enum(in.ending(), Ending::out_of_memory, out.outcome.ending)) return false;
  out.outcome.exit_code = in.exit_code();
  out.outcome.signal = in.signal();
  out.outcome.reason = in.reason().substr(0, kLongestText);
  out.usage = usage_of(in.usage());
  out.slot = in.slot();
  out.log = {.extents = Bytes{in.extents()},
             .bytes = std::min<std::uint64_t>(in.log_bytes(), kMostLogBytes),
             .last_line = in.last_line().substr(0, kLongestText)};
  return true;
}

void put(proto::Report& out, const std::vector<DeviceState>& devices) {
  for (const DeviceState& device : devices) {
    proto::Device& it = *out.add_devices();
    it.set_id(device.id);
    it.set_index(device.index);
    it.set_job(device.job.value);
    it.set_item(device.item.value);
    it.set_failure(device.failure);
    it.set_is_measured(device.is_measured);
    it.set_busy_percent(device.busy_percent);
    it.set_memory_kib(device.memory_kib);
    it.set_memory_total_kib(device.memory_total_kib);
    it.set_idle_ms(device.idle_ms);
  }
}

bool take(const proto::Report& in, std::vector<DeviceState>& devices) {
  constexpr int kMostDevices = 1024;
  if (in.devices_size() > kMostDevices) return false;
  const auto within = [](std::int64_t value) { return std::clamp<std::int64_t>(value, 0, std::int64_t{1} << 50); };
  for (const proto::Device& it : in.devices()) {
    devices.push_back({.id = it.id().substr(0, kLongestText),
                       .index = it.index(),
                       .job = JobId{it.job()},
                       .item = ItemIndex{it.item()},
                       .failure = it.failure().substr(0, kLongestText),
                       .is_measured = it.is_measured(),
                       .busy_percent = std::min(it.busy_percent(), 100U),
                       .memory_kib = within(it.memory_kib()),
                       .memory_total_kib = within(it.memory_total_kib()),
                       .idle_ms = within(it.idle_ms())});
  }
  return true;
}

void put(proto::Report& out, const Report& report, const std::vector<std::string>& frames,
         const std::vector<std::vector<std::uint32_t>>& ended_frames) {
  out.set_worker(report.worker.value);
  out.set_incarnation(report.incarnation);
  for (std::size_t i = 0; i < report.ended.size(); ++i) {
    proto::Ended& ended = *out.add_ended();
    put(ended, report.ended[i]);
    if (i >= ended_frames.size()) continue;
    for (const std::uint32_t frame : ended_frames[i]) ended.add_frames(frame);
  }
  for (const RunningAttempt& running : report.running) {
    proto::Running& it = *out.add_running();
    it.set_grant(running.token.grant.value);
    it.set_item(running.token.item.value);
    it.set_started_ms(running.started_ms);
  }
  for (const JobNote& note : report.notes) {
    proto::JobNote& it = *out.add_notes();
    it.set_job(note.job.value);
    it.set_text(note.text);
    it.set_is_final(note.is_final);
  }
  for (const Token& token : report.returned) {
    proto::Token& it = *out.add_returned();
    it.set_grant(token.grant.value);
    it.set_item(token.item.value);
  }
  for (const std::string& frame : frames) out.add_frames(frame);
  out.set_leaving(static_cast<std::uint32_t>(report.leaving));
}

bool take(proto::Report& in, Report& report, std::vector<std::string>& frames,
          std::vector<std::vector<std::uint32_t>>& ended_frames) {
  if (in.running_size() > kMostRunning || in.notes_size() > kMostNamed) return false;
  report.worker = WorkerId{in.worker()};
  report.incarnation = in.incarnation();
  report.ended.resize(static_cast<std::size_t>(in.ended_size()));
  ended_frames.resize(report.ended.size());
  for (int i = 0; i < in.ended_size(); ++i) {
    const proto::Ended& ended = in.ended(i);
    const auto at = static_cast<std::size_t>(i);
    if (!take(ended, report.ended[at])) return false;
    for (const std::uint32_t frame : ended.frames()) {
      if (frame >= static_cast<std::uint32_t>(in.frames_size())) return false;
      ended_frames[at].push_back(frame);
    }
  }
  for (const proto::Running& running : in.running()) {
    report.running.push_back({{GrantId{running.grant()}, ItemIndex{running.item()}}, running.started_ms()});
  }
  for (const proto::JobNote& note : in.notes()) {
    report.notes.push_back({JobId{note.job()}, note.text().substr(0, kLongestText), note.is_final()});
  }
  for (const proto::Token& token : in.returned()) {
    report.returned.push_back({GrantId{token.grant()}, ItemIndex{token.item()}});
  }
  for (std::string& frame : *in.mutable_frames()) frames.push_back(std::move(frame));
  if (in.leaving() <= static_cast<std::uint32_t>(Leaving::gone)) report.leaving = static_cast<Leaving>(in.leaving());
  return true;
}

void put(proto::Lease& out, const Lease& lease) {
  out.set_grant(lease.grant.value);
  out.set_job(lease.job.value);
  out.set_first(lease.first.value);
  out.set_count(lease.count);
  for (const AttemptNumber attempt : lease.attempts) out.add_attempts(attempt.value);
  out.set_timeout_ms(lease.timeout_ms);
  out.set_grace_ms(lease.grace_ms);
  put_resources(*out.mutable_ask(), lease.ask);
}

bool take(const proto::Lease& in, Lease& lease) {
  lease.grant = GrantId{in.grant()};
  lease.job = JobId{in.job()};
  lease.first = ItemIndex{in.first()};
  lease.count = in.count();
  for (const std::uint32_t attempt : in.attempts()) lease.attempts.emplace_back(attempt);
  lease.timeout_ms = in.timeout_ms();
  lease.grace_ms = in.grace_ms();
  lease.ask = resources_of(in.ask());
  return lease.count <= kMostLeased && (lease.attempts.empty() || lease.attempts.size() == lease.count);
}

}  // namespace

std::string encode(const WorkerHello& hello) {
  proto::Hello out;
  out.set_protocol(hello.protocol);
  out.set_name(hello.name);
  out.set_incarnation(hello.incarnation);
  out.set_version(hello.version);
  put_resources(out, hello.has);
  for (const auto& [name, value] : hello.labels) {
    proto::Label& label = *out.add_labels();
    label.set_name(name);
    label.set_value(value);
  }
  return bytes_of(out);
}

Result<WorkerHello> decode_hello(std::string_view bytes) {
  proto::Hello in;
  if (!parse(in, bytes)) return malformed("a worker's registration");
  WorkerHello hello{.protocol = in.protocol(),
                    .name = in.name(),
                    .incarnation = in.incarnation(),
                    .version = in.version().substr(0, kLongestVersion),
                    .has = resources_of(in),
                    .labels = {}};
  for (const proto::Label& label : in.labels()) hello.labels[label.name()] = label.value();
  return hello;
}

std::string encode(const WorkerWelcome& welcome) {
  proto::Welcome out;
  out.set_protocol(welcome.protocol);
  out.set_worker(welcome.worker.value);
  out.set_term_ms(welcome.term_ms);
  out.set_poll_wait_ms(welcome.poll_wait_ms);
  out.set_server(welcome.server);
  return bytes_of(out);
}

Result<WorkerWelcome> decode_welcome(std::string_view bytes) {
  proto::Welcome in;
  if (!parse(in, bytes)) return malformed("the server's response to a registration");
  return WorkerWelcome{in.protocol(), WorkerId{in.worker()}, in.term_ms(), in.poll_wait_ms(), in.server()};
}

std::string encode(const WorkerReport& report) {
  proto::Report out;
  put(out, report.report, report.frames, report.ended_frames);
  put(out, report.devices);
  return bytes_of(out);
}

Result<WorkerReport> decode_report(std::string_view bytes) {
  proto::Report in;
  WorkerReport report;
  if (!parse(in, bytes) || !take(in, report.report, report.frames, report.ended_frames) || !take(in, report.devices)) {
    return malformed("a worker's report");
  }
  return report;
}

std::string encode(const WorkerPoll& poll) {
  proto::Poll out;
  put(*out.mutable_report(), poll.poll.report, poll.frames, poll.ended_frames);
  put(*out.mutable_report(), poll.devices);
  out.set_number(poll.poll.number.value);
  for (const PollNumber number : poll.poll.given_up) out.add_given_up(number.value);
  out.set_want(poll.poll.want);
  out.set_wait_ms(poll.poll.wait_ms);
  if (poll.poll.room != Resources::endless()) put_resources(*out.mutable_room(), poll.poll.room);
  for (const JobId job : poll.poll.not_now) out.add_not_now(job.value);
  return bytes_of(out);
}

Result<WorkerPoll> decode_poll(std::string_view bytes) {
  proto::Poll in;
  WorkerPoll poll;
  if (!parse(in, bytes) || in.not_now_size() > kMostNamed || in.given_up_size() > kMostGivenUp ||
      !take(*in.mutable_report(), poll.poll.report, poll.frames, poll.ended_frames) ||
      !take(in.report(), poll.devices)) {
    return malformed("a worker's poll");
  }
  poll.poll.number = PollNumber{in.number()};
  for (const std::uint64_t number : in.given_up()) poll.poll.given_up.emplace_back(number);
  poll.poll.want = std::min(in.want(), kMostLeased);
  poll.poll.wait_ms = in.wait_ms();
  if (in.has_room()) poll.poll.room = resources_of(in.room());
  for (const std::uint64_t job : in.not_now()) poll.poll.not_now.emplace_back(job);
  return poll;
}

std::string encode(const WorkerPollAnswer& answer) {
  proto::PollAnswer out;
  out.set_number(answer.answer.number.value);
  for (std::size_t i = 0; i < answer.answer.leases.size(); ++i) {
    proto::Lease& lease = *out.add_leases();
    put(lease, answer.answer.leases[i]);
    if (i >= answer.items.size()) continue;
    const LeasedItems& items = answer.items[i];
    for (const std::string& text : items.texts) lease.add_items(text);
    lease.set_is_range(items.is_range);
    lease.set_first_number(items.first_number);
  }
  for (const StopOrder& stop : answer.answer.stops) {
    proto::Stop& it = *out.add_stops();
    it.set_job(stop.job.value);
    it.set_mode(static_cast<std::uint32_t>(stop.mode));
  }
  for (const Token& token : answer.answer.gone) {
    proto::Token& it = *out.add_gone();
    it.set_grant(token.grant.value);
    it.set_item(token.item.value);
  }
  for (const Token& token : answer.answer.watched) {
    proto::Token& it = *out.add_watched();
    it.set_grant(token.grant.value);
    it.set_item(token.item.value);
  }
  out.set_drain(answer.answer.drain);
  return bytes_of(out);
}

Result<WorkerPollAnswer> decode_poll_answer(std::string_view bytes) {
  proto::PollAnswer in;
  if (!parse(in, bytes)) return malformed("the server's response to a poll");
  WorkerPollAnswer answer;
  answer.answer.number = PollNumber{in.number()};
  for (proto::Lease& it : *in.mutable_leases()) {
    Lease lease;
    LeasedItems items{.texts = {}, .is_range = it.is_range(), .first_number = it.first_number()};
    for (std::string& text : *it.mutable_items()) items.texts.push_back(std::move(text));
    if (!take(it, lease) || (!items.texts.empty() && items.texts.size() != lease.count)) {
      return malformed("a lease in the server's response to a poll");
    }
    answer.answer.leases.push_back(std::move(lease));
    answer.items.push_back(std::move(items));
  }
  for (const proto::Stop& it : in.stops()) {
    StopOrder stop{.job = JobId{it.job()}};
    if (!take_enum(it.mode(), StopMode::kill_running, stop.mode)) return malformed("a stop order from the server");
    answer.answer.stops.push_back(stop);
  }
  for (const proto::Token& it : in.gone()) answer.answer.gone.push_back({GrantId{it.grant()}, ItemIndex{it.item()}});
  for (const proto::Token& it : in.watched()) {
    answer.answer.watched.push_back({GrantId{it.grant()}, ItemIndex{it.item()}});
  }
  answer.answer.drain = in.drain();
  return answer;
}

std::string encode(const WorkerJob& job) {
  proto::JobInfo out;
  out.set_job(job.job.value);
  out.set_uuid(job.uuid);
  out.set_name(job.name);
  out.set_definition(job.definition);
  out.set_queue(job.queue);
  out.set_key(job.key);
  out.set_key_renew_ms(job.key_renew_ms);
  out.set_total(job.total);
  out.set_fleet(job.fleet);
  out.set_attempts_key(job.attempts_key);
  return bytes_of(out);
}

Result<WorkerJob> decode_job(std::string_view bytes) {
  proto::JobInfo in;
  if (!parse(in, bytes)) return malformed("the server's description of a job");
  return WorkerJob{.job = JobId{in.job()},
                   .uuid = in.uuid(),
                   .name = in.name(),
                   .definition = in.definition(),
                   .queue = in.queue(),
                   .key = in.key(),
                   .key_renew_ms = in.key_renew_ms(),
                   .total = in.total(),
                   .fleet = in.fleet(),
                   .attempts_key = in.attempts_key()};
}

std::string encode(const ItemRange& range) {
  proto::Lease out;
  out.set_job(range.job.value);
  out.set_first(range.first.value);
  out.set_count(range.count);
  return bytes_of(out);
}

Result<ItemRange> decode_item_range(std::string_view bytes) {
  proto::Lease in;
  if (!parse(in, bytes) || in.count() > kMostLeased) return malformed("a worker's request for items");
  return ItemRange{JobId{in.job()}, ItemIndex{in.first()}, in.count()};
}

std::string encode(const WorkerUpload& upload) {
  proto::Upload out;
  for (const std::string& frame : upload.frames) out.add_frames(frame);
  out.set_worker(upload.worker.value);
  for (const WorkerUpload::Shown& shown : upload.shown) {
    proto::Shown& it = *out.add_shown();
    it.set_grant(shown.token.grant.value);
    it.set_item(shown.token.item.value);
    it.set_extents(shown.extents.value);
    for (const std::uint32_t frame : shown.frames) it.add_frames(frame);
  }
  return bytes_of(out);
}

Result<WorkerUpload> decode_upload(std::string_view bytes) {
  proto::Upload in;
  if (!parse(in, bytes)) return malformed("a log upload");
  WorkerUpload upload{.frames = {}, .worker = WorkerId{in.worker()}, .shown = {}};
  for (std::string& frame : *in.mutable_frames()) upload.frames.push_back(std::move(frame));
  for (const proto::Shown& it : in.shown()) {
    WorkerUpload::Shown shown{{GrantId{it.grant()}, ItemIndex{it.item()}}, Bytes{it.extents()}, {}};
    for (const std::uint32_t frame : it.frames()) {
      if (frame >= upload.frames.size()) return malformed("a log upload");
      shown.frames.push_back(frame);
    }
    upload.shown.push_back(std::move(shown));
  }
  return upload;
}

std::string encode_texts(const std::vector<std::string>& texts) {
  proto::Texts out;
  for (const std::string& text : texts) out.add_texts(text);
  return bytes_of(out);
}

Result<std::vector<std::string>> decode_texts(std::string_view bytes) {
  proto::Texts in;
  if (!parse(in, bytes)) return malformed("a list of items or frames");
  std::vector<std::string> texts;
  for (std::string& text : *in.mutable_texts()) texts.push_back(std::move(text));
  return texts;
}

std::string encode_job_number(JobId job) {
  proto::JobInfo out;
  out.set_job(job.value);
  return bytes_of(out);
}

Result<JobId> decode_job_number(std::string_view bytes) {
  proto::JobInfo in;
  if (!parse(in, bytes)) return malformed("a worker's request for a job");
  return JobId{in.job()};
}

}  // namespace drover
