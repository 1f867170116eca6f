#include "api/worker/worker_calls.h"

#include <algorithm>

#include "api/problem.h"
#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "wire/session_calls.h"

namespace drover {
namespace {

constexpr std::string_view kRoot = "/worker/v1/";
constexpr std::uint64_t kLargestCall = std::uint64_t{64} << 20;
constexpr std::int64_t kLongestPollWaitMs = 20'000;
// Texts of items up to this size ride in the answer to a poll.
constexpr std::size_t kMostText = std::size_t{256} << 10;
constexpr std::size_t kMostAskedText = std::size_t{16} << 20;
constexpr std::int64_t kRenewEachMs = 1'000;

HttpResponse bytes(std::string body) {
  return {.status = 200, .headers = {{"Content-Type", "application/x-protobuf"}}, .body = std::move(body)};
}

std::unexpected<Error> not_yours(const Caller& caller, std::string_view name) {
  return fail(ErrorCode::denied,
              concat("the key ", caller.key_id, " is for worker '", caller.worker, "' only, not for '", name, "'"),
              "join each worker with its own token, or use a key created with 'drover key create --scope worker'");
}

bool names_extents(const Report& report) {
  return std::ranges::any_of(report.ended, [](const EndedAttempt& it) { return !it.log.extents.value.empty(); });
}

Error removed_meanwhile() {
  return {ErrorCode::denied, "the key used for this poll was removed, or expired, while the poll was waiting",
          "join again with a new token"};
}

}  // namespace

void WorkerCalls::forget(JobId job) {
  const std::scoped_lock lock(mutex_);
  facts_.erase(job);
}

void WorkerCalls::forget(WorkerId worker) {
  const std::scoped_lock lock(mutex_);
  known_.erase(worker);
}

std::expected<ServiceCall, HttpResponse> WorkerCalls::resolve(const HttpHead& head) {
  return ServiceCall{.needs = Permission{Action::work, "act as a worker"},
                     .most_bytes = head.method == "POST" ? kLargestCall : 0,
                     .handle = [this](HttpRequest request, HttpReply reply, const Asker& asker) {
                       handle(std::move(request), std::move(reply), asker.caller);
                     }};
}

void WorkerCalls::handle(HttpRequest request, HttpReply reply, const Caller& caller) {
  const std::string_view what = std::string_view(request.head.path).substr(kRoot.size());
  const auto shared = std::make_shared<HttpReply>(std::move(reply));
  if (!caller.worker.empty()) job_keys_.ring.note_use(caller.key_id, job_keys_.now_ms());
  if (request.head.method != "POST") {
    return shared->send(problem(405, {ErrorCode::bad_input, "worker calls must use POST", {}}));
  }
  const std::string* version = request.head.header("Drover-Version");
  if (what == "poll") return on_poll(request.body, caller, version == nullptr ? "" : *version, shared);
  if (what == "report") return on_report(request.body, caller, shared);
  if (what == "logs") return on_logs(request.body, caller, shared);
  if (what == "register") return on_register(request.body, caller, shared);
  if (what == "job") return on_job(request.body, caller, shared);
  if (what == "items") return on_items(request.body, shared);
  shared->send(problem({ErrorCode::not_found, "unknown worker call", "install the server's version on the worker"}));
}

/// A parked poll is answered, and the next one renews the lease, well before it runs out.
std::int64_t WorkerCalls::poll_wait_ms() const {
  return std::min(kLongestPollWaitMs, term_ms_ / 3);
}

void WorkerCalls::know(const std::vector<Worker>& workers) {
  const std::scoped_lock lock(mutex_);
  for (const Worker& worker : workers) known_[worker.id].name = worker.name;
}

Result<void> WorkerCalls::admit(const Caller& caller, WorkerId worker) {
  const std::scoped_lock lock(mutex_);
  const auto it = known_.find(worker);
  if (it == known_.end()) return {};  // it is told to register
  if (!caller.worker.empty() && it->second.name != caller.worker) return not_yours(caller, it->second.name);
  if (it->second.key_id != caller.key_id) it->second.key_id = caller.key_id;
  return {};
}

void WorkerCalls::on_key_removed(const std::string& key_id) {
  std::vector<std::string> names;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [worker, known] : known_) {
      if (known.key_id == key_id) names.push_back(known.name);
    }
  }
  for (const std::string& name : names) backend_.post(Fence{name}, [](const Result<Effect>&) {});
}

void WorkerCalls::on_register(std::string_view body, const Caller& caller, Reply reply) {
  auto hello = decode_hello(body);
  if (!hello) return reply->send(problem(hello.error()));
  if (hello->protocol < kOldestWorkerProtocol || hello->protocol > kWorkerProtocol) {
    return reply->send(problem({ErrorCode::bad_input,
                                concat("worker '", hello->name, "' uses protocol version ", hello->protocol,
                                       "; this server supports ", kOldestWorkerProtocol, " to ", kWorkerProtocol),
                                "install the server's version on the worker"}));
  }
  if (!is_valid_name(hello->name)) {
    return reply->send(problem({ErrorCode::bad_input, "invalid worker name",
                                "use letters, digits, '_', '.' and '-', at most 128 characters"}));
  }
  if (!caller.worker.empty() && caller.worker != hello->name) {
    return reply->send(problem(not_yours(caller, hello->name).error()));
  }
  for (const auto& [name, value] : hello->labels) {
    if (is_valid_label(name, value)) continue;
    return reply->send(problem({ErrorCode::bad_input, concat("worker '", hello->name, "' has an invalid label"),
                                "write NAME=VALUE with letters, digits and '_.-'; the value may also contain ':/+@'"}));
  }
  backend_.post(to_command(*hello, term_ms_, caller.fleet),
                [this, hello = *hello, key_id = caller.key_id, reply = std::move(reply)](const Result<Effect>& effect) {
                  if (!effect) return reply->send(problem(effect.error()));
                  const WorkerId worker = std::get<WorkerRegistered>(*effect).worker;
                  backend_.note_worker(worker, hello.version);
                  {
                    const std::scoped_lock lock(mutex_);
                    known_[worker] = {.name = hello.name, .key_id = key_id};
                  }
                  reply->send(bytes(encode(WorkerWelcome{
                      .worker = worker, .term_ms = term_ms_, .poll_wait_ms = poll_wait_ms(), .server = server_})));
                });
}

// A disk that is full or slow must not cost a worker its lease: the poll that brought the frames waits for them, and is
// refused if they cannot be stored. The worker then keeps what ended and reports it again. So the core hears at once
// that the worker is alive, and what it runs.
void WorkerCalls::renew(const Report& report) {
  const std::int64_t now_ms = steady_.elapsed_ns() / 1'000'000;
  {
    const std::scoped_lock lock(mutex_);
    const auto it = known_.find(report.worker);
    if (it == known_.end() || (it->second.renewed_ms != 0 && now_ms - it->second.renewed_ms < kRenewEachMs)) return;
    it->second.renewed_ms = now_ms;
  }
  backend_.post(Report{.worker = report.worker, .incarnation = report.incarnation, .running = report.running},
                [](const Result<Effect>&) {});
}

void WorkerCalls::place(ReportFrames frames, std::shared_ptr<Report> report, const Reply& reply,
                        std::function<void()> go_on) {
  backend_.note_seen(report->worker);
  if (frames.frames.empty() && !names_extents(*report)) return go_on();
  if (auto checked = backend_.check_logs(*report); !checked) return reply->send(problem(checked.error()));
  renew(*report);
  backend_.keep_logs(std::move(frames), std::move(report), [reply, go_on = std::move(go_on)](const Result<void>& kept) {
    if (!kept) return reply->send(problem(kept.error()));
    go_on();
  });
}

void WorkerCalls::on_poll(std::string_view body, const Caller& caller, const std::string& version, const Reply& reply) {
  auto decoded = decode_poll(body);
  if (!decoded) return reply->send(problem(decoded.error()));
  auto poll = std::make_shared<Poll>(std::move(decoded->poll));
  if (auto may = admit(caller, poll->report.worker); !may) return reply->send(problem(may.error()));
  if (!version.empty()) backend_.note_version(poll->report.worker, version);
  if (!decoded->devices.empty()) backend_.note_devices(poll->report.worker, std::move(decoded->devices));
  poll->wait_ms = std::clamp<std::int64_t>(poll->wait_ms, 0, poll_wait_ms());
  const std::shared_ptr<Report> report(poll, &poll->report);
  place({std::move(decoded->frames), std::move(decoded->ended_frames)}, report, reply,
        [this, poll, key_id = caller.key_id, reply] {
          auto followed = backend_.followed(poll->report.ended);
          const std::int64_t begun_ns = steady_.elapsed_ns();
          const WorkerId worker = poll->report.worker;
          const std::uint64_t incarnation = poll->report.incarnation;
          backend_.post(std::move(*poll), [this, key_id, reply, begun_ns, worker, incarnation,
                                           followed = std::move(followed)](Result<Effect> effect) {
            backend_.on_ended(followed);
            backend_.polled(static_cast<double>(steady_.elapsed_ns() - begun_ns) / 1e9);
            if (!job_keys_.ring.holds(key_id, job_keys_.now_ms()))
              return reply->send(problem(401, removed_meanwhile()));
            if (!effect) return reply->send(problem(effect.error()));
            if (reply->peer_is_gone()) {
              give_back(worker, incarnation, std::get<PollAnswer>(*effect));
              return reply->send(bytes({}));
            }
            backend_.leased(std::get<PollAnswer>(*effect).leases);
            answer_poll(std::get<PollAnswer>(std::move(*effect)), reply);
          });
        });
}

// Whoever asked has hung up, and will never hear what it was given: others may have it at once, not when its lease is
// over.
void WorkerCalls::give_back(WorkerId worker, std::uint64_t incarnation, const PollAnswer& answer) {
  Report back{.worker = worker, .incarnation = incarnation};
  for (const Lease& lease : answer.leases) {
    for (std::uint64_t i = 0; i < lease.count; ++i) {
      back.returned.push_back({lease.grant, ItemIndex{lease.first.value + i}});
    }
  }
  if (!back.returned.empty()) backend_.post(std::move(back), [](const Result<Effect>&) {});
}

void WorkerCalls::on_report(std::string_view body, const Caller& caller, const Reply& reply) {
  auto decoded = decode_report(body);
  if (!decoded) return reply->send(problem(decoded.error()));
  const auto report = std::make_shared<Report>(std::move(decoded->report));
  if (auto may = admit(caller, report->worker); !may) return reply->send(problem(may.error()));
  if (!decoded->devices.empty()) backend_.note_devices(report->worker, std::move(decoded->devices));
  place({std::move(decoded->frames), std::move(decoded->ended_frames)}, report, reply, [this, report, reply] {
    auto followed = backend_.followed(report->ended);
    backend_.post(std::move(*report), [this, reply, followed = std::move(followed)](const Result<Effect>& effect) {
      backend_.on_ended(followed);
      reply->send(effect ? bytes({}) : problem(effect.error()));
    });
  });
}

void WorkerCalls::on_logs(std::string_view body, const Caller& caller, const Reply& reply) {
  auto upload = decode_upload(body);
  if (!upload) return reply->send(problem(upload.error()));
  if (auto may = admit(caller, upload->worker); !may) return reply->send(problem(may.error()));
  backend_.show_logs(std::move(*upload), [reply](const Result<std::vector<Bytes>>& places) {
    if (!places) return reply->send(problem(places.error()));
    std::vector<std::string> out;
    for (const Bytes& place : *places) out.push_back(place.value);
    reply->send(bytes(encode_texts(out)));
  });
}

std::optional<WorkerCalls::JobFacts> WorkerCalls::known_facts(JobId job) {
  const std::scoped_lock lock(mutex_);
  const auto it = facts_.find(job);
  if (it == facts_.end()) return std::nullopt;
  return it->second;
}

Result<WorkerCalls::JobFacts> WorkerCalls::facts(JobId job) {
  if (auto known = known_facts(job)) return *known;
  auto read = backend_.job(job);
  if (!read) return pass(read);
  JobFacts found{std::move(*read), {}};
  if (found.job.stream.empty()) {
    auto manifest = backend_.manifest(found.job.manifest);
    if (!manifest) return pass(manifest);
    found.manifest = *manifest;
  }
  const std::scoped_lock lock(mutex_);
  facts_[job] = found;
  return found;
}

Result<std::vector<std::string>> WorkerCalls::texts(const JobFacts& facts, ItemIndex first, std::uint64_t count,
                                                    std::size_t most_bytes) {
  if (!facts.job.stream.empty()) return backend_.message_texts(facts.job, first, count, most_bytes);
  if (first.value >= facts.job.total || count > facts.job.total - first.value) {
    return fail(ErrorCode::bad_input, concat("job ", facts.job.name, " has only ", plural(facts.job.total, "item")));
  }
  return backend_.item_texts(facts.job.manifest, facts.manifest, first, count, most_bytes);
}

// A lease says which items; their texts are put beside it, unless they are numbers or too long.
void WorkerCalls::answer_poll(PollAnswer answer, const Reply& reply) {
  WorkerPollAnswer out{.answer = std::move(answer), .items = {}};
  bool all_known = true;
  for (const Lease& lease : out.answer.leases) {
    const auto known = known_facts(lease.job);
    all_known = all_known && known && known->manifest.kind == ManifestKind::range;
    if (!all_known) break;
    out.items.push_back({.texts = {},
                         .is_range = true,
                         .first_number = known->manifest.first_number + static_cast<std::int64_t>(lease.first.value)});
  }
  if (all_known) return reply->send(bytes(encode(out)));
  backend_.later([this, out = std::move(out), reply]() mutable {
    out.items.clear();
    std::size_t room = kMostText;
    for (const Lease& lease : out.answer.leases) {
      LeasedItems items;
      if (auto known = facts(lease.job)) {
        if (known->manifest.kind == ManifestKind::range) {
          items = {.texts = {},
                   .is_range = true,
                   .first_number = known->manifest.first_number + static_cast<std::int64_t>(lease.first.value)};
        } else if (auto found = texts(*known, lease.first, lease.count, room); found && found->size() == lease.count) {
          items.texts = std::move(*found);
          for (const std::string& text : items.texts) room -= std::min(room, text.size());
        }
      }
      out.items.push_back(std::move(items));
    }
    reply->send(bytes(encode(out)));
  });
}

void WorkerCalls::on_job(std::string_view body, const Caller& caller, const Reply& reply) {
  auto job = decode_job_number(body);
  if (!job) return reply->send(problem(job.error()));
  backend_.later([this, job = *job, giver = caller.key_id, fleet = caller.fleet, reply] {
    auto known = facts(job);
    if (!known) return reply->send(problem(known.error()));
    auto definition = backend_.definition(known->job.definition);
    if (!definition) return reply->send(problem(definition.error()));
    auto as_it_is = backend_.job(job);
    if (!as_it_is) return reply->send(problem(as_it_is.error()));
    WorkerJob out{.job = job,
                  .uuid = known->job.uuid.text(),
                  .name = known->job.name,
                  .definition = *definition,
                  .queue = known->job.place.queue,
                  .key = {},
                  .key_renew_ms = job_keys_.life_ms,
                  .total = known->job.total,
                  .fleet = fleet};
    // Of a job that has ended nobody starts an item, and a worker may not read what became of it.
    if (!as_it_is->ended()) {
      const Policy& policy = as_it_is->policy;
      const std::int64_t longest_ms = policy.timeout_ms > 0 ? policy.timeout_ms + policy.grace_ms : 0;
      const std::int64_t until_ms = job_keys_.now_ms() + 2 * job_keys_.life_ms + longest_ms;
      out.key = job_keys_.ring.job_key(known->job.uuid, giver, until_ms).reveal();
      out.attempts_key = job_keys_.ring.attempts_key(known->job.uuid, giver, until_ms).reveal();
    }
    reply->send(bytes(encode(out)));
  });
}

void WorkerCalls::on_items(std::string_view body, const Reply& reply) {
  auto range = decode_item_range(body);
  if (!range) return reply->send(problem(range.error()));
  backend_.later([this, range = *range, reply] {
    auto known = facts(range.job);
    if (!known) return reply->send(problem(known.error()));
    auto found = texts(*known, range.first, range.count, kMostAskedText);
    if (!found) return reply->send(problem(found.error()));
    reply->send(bytes(encode_texts(*found)));  // perhaps only the first of them: the worker asks for the rest
  });
}

}  // namespace drover
