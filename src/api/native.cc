#include "api/native.h"

#include <boost/json.hpp>
#include <random>

#include "api/item_lines.h"
#include "api/problem.h"
#include "base/hash.h"
#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/unfit.h"
#include "wire/submission.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::uint64_t kLargestJob = std::uint64_t{64} << 20;  // with its items in it
constexpr std::uint64_t kMostListed = 10'000;

HttpResponse json_response(int status, const json::value& body) {
  return {.status = status, .headers = {{"Content-Type", "application/json"}}, .body = json::serialize(body) + "\n"};
}

HttpResponse text_head() {
  return {.status = 200, .headers = {{"Content-Type", "text/plain; charset=utf-8"}}, .body = {}};
}

Uuid random_uuid() {
  std::random_device device;
  std::array<std::uint8_t, 16> bytes{};
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(device());
  return Uuid::from_random(bytes);
}

std::string name_of_command(const std::vector<std::string>& command) {
  std::string_view program = command.front();
  if (const auto slash = program.rfind('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  std::string name;
  for (const char c : program.substr(0, 60)) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ? c : '_';
  }
  return name.empty() ? "job" : name;
}

/// What the core's record tells without looking at its items: those that run are told as pending.
ItemCounts counts_of(const Job& job) {
  ItemCounts counts{.succeeded = job.succeeded, .failed = job.failed, .cancelled = job.cancelled};
  const std::uint64_t left = job.total - job.succeeded - job.failed - job.cancelled;
  (job.ended() ? counts.cancelled : counts.pending) += left;
  return counts;
}

/// null: nobody said how much.
json::value unless_endless(std::uint64_t amount, const json::value& shown) {
  return amount == Resources::kEndless ? json::value(nullptr) : shown;
}

Result<ItemIndex> item_of(const Job& job, const std::string& text) {
  const auto index = parse_number(text);
  if (index && *index < job.total) return ItemIndex{*index};
  return fail(ErrorCode::not_found, concat("job ", job.name, " has no item ", utf8(text)),
              concat("its items are 0 to ", job.total == 0 ? 0 : job.total - 1));
}

json::object item_json(const ItemView& item) {
  json::object out{{"index", item.item.value},
                   {"state", item.state},
                   {"attempts", item.attempts},
                   {"last", item.last ? json::value(attempt_to_json(*item.last)) : json::value(nullptr)}};
  put_item_text(out, item.text);
  return out;
}

}  // namespace

Uuid uuid_of_token(std::string_view client_token) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t half = 0; half < 2; ++half) {
    Hasher hasher;
    hasher.add(half == 0 ? "drover job" : "drover token");
    hasher.add(client_token);
    const std::uint64_t value = hasher.value();
    for (std::size_t i = 0; i < 8; ++i) bytes[half * 8 + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  return Uuid::from_random(bytes);
}

NativeApi::NativeApi(Backend& backend) : backend_(backend) {}

const std::vector<NativeApi::Route>& NativeApi::routes() {
  using enum ApiNeed;
  static const std::vector<Route> table = {
      {"POST", "manifests", submit, false, &NativeApi::upload_manifest},
      {"POST", "jobs", submit, false, &NativeApi::submit},
      {"GET", "jobs", read, false, &NativeApi::list_jobs},
      {"GET", "jobs/*", read, true, &NativeApi::show_job},
      {"POST", "jobs/*/cancel", change_job, true, &NativeApi::cancel},
      {"POST", "jobs/*/retry", change_job, true, &NativeApi::retry},
      {"GET", "jobs/*/items", read, true, &NativeApi::list_items},
      {"GET", "jobs/*/items/*", read, true, &NativeApi::show_item},
      {"GET", "jobs/*/items/*/log", read, true, &NativeApi::show_log},
      {"GET", "jobs/*/search", read, true, &NativeApi::search_logs},
      {"GET", "workers", read, false, &NativeApi::list_workers},
      {"POST", "workers/*/drain", administrate, false, &NativeApi::drain_worker},
      {"POST", "workers/*/fence", administrate, false, &NativeApi::fence_worker},
  };
  return table;
}

Result<NativeApi::Found> NativeApi::find(const HttpHead& head) {
  const auto segments = path_segments(head.path);
  if (!segments) return fail(ErrorCode::bad_input, concat("the path ", utf8(head.path), " is not a path"));
  bool other_method = false;
  for (const Route& route : routes()) {
    const auto wanted = path_segments(concat(kRoot, route.path));
    if (wanted->size() != segments->size()) continue;
    Found found{&route, {}};
    bool same = true;
    for (std::size_t i = 0; i < segments->size() && same; ++i) {
      if ((*wanted)[i] == "*") {
        found.parts.push_back((*segments)[i]);
      } else {
        same = (*wanted)[i] == (*segments)[i];
      }
    }
    if (!same) continue;
    if (route.method == head.method) return found;
    other_method = true;
  }
  if (other_method) {
    return fail(ErrorCode::bad_input, concat(head.method, " is not for ", utf8(head.path)),
                "docs/api.md lists the calls");
  }
  return fail(ErrorCode::not_found, concat("there is no ", utf8(head.path)), "docs/api.md lists the calls");
}

Result<ApiCall> NativeApi::recognise(const HttpHead& head) const {
  auto found = find(head);
  if (!found) return pass(found);
  return ApiCall{found->route->need, found->route->about_a_job ? found->parts.front() : ""};
}

HttpBodyPlan NativeApi::plan(const HttpHead& head) {
  auto found = find(head);
  if (!found) return {.most_bytes = 0, .sink = nullptr, .refusal = problem(found.error())};
  if (found->route->method != "POST") return {};
  if (found->route->handler != &NativeApi::upload_manifest) return {.most_bytes = kLargestJob, .sink = nullptr};
  const auto pairs = query_pairs(head.query).value_or(QueryPairs{});
  const bool by_nul =
      std::ranges::any_of(pairs, [](const auto& it) { return it.first == "separator" && it.second == "nul"; });
  return {.most_bytes = std::numeric_limits<std::uint64_t>::max(),
          .sink = std::make_unique<ItemLines>(backend_, by_nul ? '\0' : '\n')};
}

void NativeApi::handle(HttpRequest request, HttpReply reply) {
  auto found = find(request.head);
  if (!found) return reply.send(problem(found.error()));
  auto pairs = query_pairs(request.head.query);
  if (!pairs) return reply.send(problem({ErrorCode::bad_input, "the query of the address cannot be read", {}}));
  Asked asked{std::move(request), std::move(found->parts), std::move(*pairs)};
  // Every call looks something up or writes something down.
  backend_.later([this, handler = found->route->handler, asked = std::make_shared<Asked>(std::move(asked)),
                  reply = std::make_shared<HttpReply>(std::move(reply))] {
    (this->*handler)(std::move(*asked), std::move(*reply));
  });
}

const std::string* NativeApi::Asked::parameter(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<std::uint64_t> NativeApi::Asked::number(std::string_view name, std::uint64_t usual, std::uint64_t most) const {
  const std::string* text = parameter(name);
  if (text == nullptr) return usual;
  auto number = parse_number(*text);
  if (number && *number <= most) return *number;
  return fail(ErrorCode::bad_input, concat("parameter '", name, "' is not a whole number up to ", most));
}

bool NativeApi::Asked::flag(std::string_view name) const {
  const std::string* text = parameter(name);
  return text != nullptr && *text != "false" && *text != "0";
}

Result<Job> NativeApi::job_of(const std::string& reference) {
  auto jobs = backend_.jobs();
  if (!jobs) return pass(jobs);
  const Job* found = nullptr;
  std::size_t prefixed = 0;
  for (const Job& job : *jobs) {
    const std::string uuid = job.uuid.text();
    if (uuid == reference) return job;
    if (reference.size() >= 4 && uuid.starts_with(reference)) {
      ++prefixed;
      found = &job;
    }
  }
  if (prefixed > 1) {
    return fail(ErrorCode::conflict, concat("several jobs' ids begin with ", utf8(reference)), "give more of the id");
  }
  // By its name: the newest that has it.
  for (auto it = jobs->rbegin(); found == nullptr && it != jobs->rend(); ++it) {
    if (it->name == reference) found = &*it;
  }
  if (found != nullptr) return *found;
  return fail(ErrorCode::not_found, concat("there is no job ", utf8(reference)), "'drover jobs' lists them");
}

void NativeApi::upload_manifest(Asked asked, HttpReply reply) {
  auto& lines = static_cast<ItemLines&>(*asked.request.sink);
  const auto manifest = lines.manifest();
  if (!manifest) return reply.send(problem(manifest.error()));
  reply.send(json_response(201, json::object{{"manifest", manifest->id.value}, {"items", manifest->items}}));
}

namespace {

// What a job can say already and the core cannot do yet. Nothing that was said is dropped in silence.
std::string_view not_yet(const Submission& job) {
  if (job.queue != "default") return "queue";
  if (job.priority > 0) return "priority";
  if (!job.share.empty()) return "share";
  if (!job.after.empty()) return "after";
  if (job.sequential) return "sequential";
  if (job.max_running > 0) return "max_running";
  if (job.job_timeout_ms > 0) return "job_timeout";
  if (std::ranges::any_of(job.accelerators, [](std::uint64_t count) { return count > 0; })) return "accelerators";
  if (!job.base_definition.empty()) return "definition";
  return {};
}

}  // namespace

void NativeApi::submit(Asked asked, HttpReply reply) {
  const auto refuse = [&](const Error& error) { reply.send(problem(error)); };
  auto submission = submission_from_json(asked.request.body);
  if (!submission) return refuse(submission.error());
  if (const std::string_view field = not_yet(*submission); !field.empty()) {
    return refuse(
        {ErrorCode::bad_input, concat("field '", field, "' is not yet something this server can do"), "leave it out"});
  }
  if (submission->name.empty()) submission->name = name_of_command(submission->definition.command);
  if (!is_valid_name(submission->name)) {
    return refuse({ErrorCode::bad_input, concat("'", utf8(submission->name), "' cannot be a job's name"),
                   "a name has letters, digits, '_', '.' and '-', at most 128"});
  }
  SubmitJob job{.uuid = submission->client_token.empty() ? random_uuid() : uuid_of_token(submission->client_token),
                .name = submission->name,
                .definition = {},
                .manifest = {},
                .policy = submission->policy,
                .ask = ask_of(submission->definition.limits),
                .require = std::move(submission->require)};
  NewManifest manifest;
  if (const auto* numbers = std::get_if<NumberItems>(&submission->items)) {
    const auto count = static_cast<std::uint64_t>(numbers->last) - static_cast<std::uint64_t>(numbers->first) + 1;
    auto added = backend_.add_range(numbers->first, count);
    if (!added) return refuse(added.error());
    manifest = *added;
  } else if (const auto* id = std::get_if<ManifestId>(&submission->items)) {
    auto info = backend_.claim_manifest(*id);
    if (!info && info.error().code != ErrorCode::not_found) return refuse(info.error());
    if (!info) {
      return refuse({ErrorCode::not_found, concat("there is no manifest ", id->value),
                     "upload the list first, with POST /api/v1/manifests"});
    }
    manifest = {*id, info->items};
  } else {
    auto intake = backend_.begin_items();
    if (!intake) return refuse(intake.error());
    for (const std::string& item : std::get<std::vector<std::string>>(submission->items)) {
      if (auto added = (*intake)->add(item); !added) return refuse(added.error());
    }
    auto added = (*intake)->finish(Lasting::with_the_job);
    if (!added) return refuse(added.error());
    manifest = *added;
  }
  job.manifest = manifest.id;
  job.total = manifest.items;
  auto definition = backend_.add_definition(definition_to_json(submission->definition));
  if (!definition) return refuse(definition.error());
  job.definition = *definition;
  json::object said{{"id", job.uuid.text()}, {"name", job.name}, {"total", job.total}};
  backend_.post(std::move(job), [said = std::move(said), reply = std::make_shared<HttpReply>(std::move(reply))](
                                    const Result<Effect>& effect) mutable {
    reply->send(effect ? json_response(201, said) : problem(effect.error()));
  });
}

void NativeApi::list_jobs(Asked asked, HttpReply reply) {
  auto limit = asked.number("limit", 100, kMostListed);
  if (!limit) return reply.send(problem(limit.error()));
  auto jobs = backend_.jobs();
  if (!jobs) return reply.send(problem(jobs.error()));
  const std::string* state = asked.parameter("state");
  const std::string* name = asked.parameter("name");
  json::array out;
  for (auto it = jobs->rbegin(); it != jobs->rend() && out.size() < *limit; ++it) {
    if (state != nullptr && *state != to_string(it->state)) continue;
    if (name != nullptr && *name != it->name) continue;
    out.push_back(job_to_json(*it, counts_of(*it)));
  }
  reply.send(json_response(200, json::object{{"jobs", std::move(out)}}));
}

void NativeApi::show_job(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto counts = backend_.counts(*job);
  if (!counts) return reply.send(problem(counts.error()));
  json::object out = job_to_json(*job, *counts);
  out["waits_for"] = nullptr;
  if (!job->ended() && counts->running == 0) {
    auto workers = backend_.workers();
    if (!workers) return reply.send(problem(workers.error()));
    std::vector<Worker> known;
    for (WorkerView& it : *workers) known.push_back(std::move(it.worker));
    if (const auto lacking = what_nobody_has(*job, known)) out["waits_for"] = *lacking;
  }
  if (auto definition = backend_.definition(job->definition)) {
    json::error_code error;
    json::value parsed = json::parse(*definition, error);
    if (!error) out["definition"] = std::move(parsed);
  }
  reply.send(json_response(200, out));
}

void NativeApi::cancel(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  json::object said{{"id", job->uuid.text()}, {"name", job->name}};
  backend_.post(CancelJob{job->id, "cancelled by the user"},
                [said = std::move(said),
                 reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) mutable {
                  if (!effect) return reply->send(problem(effect.error()));
                  said["cancelled"] = !std::get<JobCancelled>(*effect).was_over;
                  reply->send(json_response(200, said));
                });
}

void NativeApi::retry(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto again = backend_.settled(job->id, true);
  if (!again) return reply.send(problem(again.error()));
  json::object said{{"id", job->uuid.text()}, {"name", job->name}, {"items", again->size()}};
  backend_.post(ReopenJob{job->id, job->epoch, std::nullopt, std::move(*again)},
                [said = std::move(said),
                 reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) mutable {
                  reply->send(effect ? json_response(200, said) : problem(effect.error()));
                });
}

void NativeApi::list_items(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto from = asked.number("from", 0, kMostItems);
  if (!from) return reply.send(problem(from.error()));
  auto limit = asked.number("limit", 100, kMostListed);
  if (!limit) return reply.send(problem(limit.error()));
  const std::string* state = asked.parameter("state");
  auto items = backend_.items(*job, {ItemIndex{*from}, *limit, state == nullptr ? "" : *state});
  if (!items) return reply.send(problem(items.error()));
  json::array out;
  for (const ItemView& item : *items) {
    out.push_back(item_json(item));
  }
  json::object body{{"items", std::move(out)}};
  body["next"] =
      items->size() == *limit && !items->empty() ? json::value(items->back().item.value + 1) : json::value(nullptr);
  reply.send(json_response(200, body));
}

void NativeApi::show_item(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto index = item_of(*job, asked.parts[1]);
  if (!index) return reply.send(problem(index.error()));
  auto items = backend_.items(*job, {*index, 1, ""});
  if (!items) return reply.send(problem(items.error()));
  json::object out = item_json(items->front());
  auto attempts = backend_.attempts(job->id, *index);
  if (!attempts) return reply.send(problem(attempts.error()));
  json::array history;
  for (const Attempt& attempt : *attempts) history.push_back(attempt_to_json(attempt));
  out["history"] = std::move(history);
  reply.send(json_response(200, out));
}

void NativeApi::show_log(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto index = item_of(*job, asked.parts[1]);
  if (!index) return reply.send(problem(index.error()));
  auto attempt = asked.number("attempt", 0, 1'000'000);
  if (!attempt) return reply.send(problem(attempt.error()));
  auto tail = asked.number("tail", 0, 1'000'000'000);
  if (!tail) return reply.send(problem(tail.error()));
  auto skip = asked.number("skip", 0, std::numeric_limits<std::int64_t>::max());
  if (!skip) return reply.send(problem(skip.error()));
  const std::string* stream = asked.parameter("stream");
  const LogQuestion question{.job = job->id,
                             .item = *index,
                             .attempt = AttemptNumber{static_cast<std::uint32_t>(*attempt)},
                             .only_stderr = stream != nullptr && *stream == "stderr",
                             .tail = *tail,
                             .skip = *skip,
                             .follow = asked.flag("follow")};
  if (question.follow || *skip > 0) return send_running_log(question, std::move(reply));
  // What the item prints right now only its worker knows; the core knows whether there is one.
  backend_.post(Watch{job->id, question.item},
                [this, question, reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  const auto* watched = effect ? std::get_if<Watched>(&*effect) : nullptr;
                  if (watched != nullptr && watched->running) return send_running_log(question, std::move(*reply));
                  backend_.later([this, question, reply] {
                    auto source = backend_.log(question);
                    if (!source) return reply->send(problem(source.error()));
                    reply->send(text_head(), std::move(*source));
                  });
                });
}

void NativeApi::send_running_log(const LogQuestion& question, HttpReply reply) {
  auto begun = backend_.log_of_running(question, [&] { return reply.stream(text_head()); });
  if (!begun) reply.send(problem(begun.error()));
}

void NativeApi::search_logs(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  const std::string* pattern = asked.parameter("grep");
  if (pattern == nullptr || pattern->empty()) {
    return reply.send(problem({ErrorCode::bad_input, "parameter 'grep' is missing", "give a regular expression"}));
  }
  auto limit = asked.number("limit", 1000, 1'000'000);
  if (!limit) return reply.send(problem(limit.error()));
  backend_.search({.job = job->id,
                   .pattern = *pattern,
                   .only_failed = asked.flag("failed"),
                   .ignore_case = asked.flag("ignore_case"),
                   .limit = *limit},
                  std::move(reply));
}

void NativeApi::list_workers(Asked /*asked*/, HttpReply reply) {
  auto workers = backend_.workers();
  if (!workers) return reply.send(problem(workers.error()));
  json::array out;
  for (const WorkerView& it : *workers) {
    const Resources& has = it.worker.has;
    out.push_back(json::object{{"name", utf8(it.worker.name)},
                               {"id", it.worker.id.value},
                               {"registered_ms", it.worker.registered_ms},
                               {"seen_ms", it.seen_ms == 0 ? json::value(nullptr) : json::value(it.seen_ms)},
                               {"version", utf8(it.version)},
                               {"cpus", unless_endless(has.milli_cpus, static_cast<double>(has.milli_cpus) / 1000)},
                               {"memory_bytes", unless_endless(has.memory_bytes, has.memory_bytes)},
                               {"labels", labels_json(it.worker.labels)}});
  }
  reply.send(json_response(200, json::object{{"workers", std::move(out)}}));
}

void NativeApi::drain_worker(Asked asked, HttpReply reply) {
  send_away(asked.parts[0], AskToDrain{asked.parts[0]}, std::move(reply));
}

void NativeApi::fence_worker(Asked asked, HttpReply reply) {
  send_away(asked.parts[0], Fence{asked.parts[0]}, std::move(reply));
}

void NativeApi::send_away(const std::string& name, Command command, HttpReply reply) {
  backend_.post(std::move(command),
                [name, reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  if (!effect) return reply->send(problem(effect.error()));
                  reply->send(json_response(
                      200, json::object{{"name", utf8(name)}, {"leases", std::get<WorkerToBeGone>(*effect).grants}}));
                });
}

}  // namespace drover
