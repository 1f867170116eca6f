// Jobs: submitted, looked at, cancelled, retried.
#include <algorithm>
#include <cmath>

#include "api/json_reply.h"
#include "api/native/item_lines.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "base/hash.h"
#include "base/name.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "ports/entropy.h"
#include "ports/reopen_page.h"
#include "wire/body_fields.h"
#include "wire/image_reference.h"
#include "wire/submission.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::int64_t kLeast32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kMostSignal = 64;
constexpr std::int64_t kMost32 = std::numeric_limits<std::int32_t>::max();

/// What a job without a command runs: the image's own. "ghcr.io/lab/fold:2" is "fold".
std::string name_of_image(const std::optional<ContainerOptions>& container) {
  const auto reference = container ? ImageReference::parse(container->image) : fail(ErrorCode::bad_input, {});
  if (!reference) return {};
  return reference->name.empty() ? reference->path : reference->name;
}

/// The name of a job that was given none: that of its program, or else of its image.
std::string default_name(const Definition& definition) {
  const std::string path =
      definition.command.empty() ? name_of_image(definition.container) : definition.command.front();
  std::string_view last = path;
  while (last.ends_with('/')) last.remove_suffix(1);
  if (const auto slash = last.rfind('/'); slash != std::string_view::npos) last.remove_prefix(slash + 1);
  std::string name;
  for (const char c : last.substr(0, 60)) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' ? c : '_';
  }
  return name.empty() ? "job" : name;
}

/// What a retry is about, and what items shall ask for from now on, if that is said.
struct RetryRequest {
  ReopenChoice chosen;
  std::optional<Resources> ask;
};

Result<RetryRequest> retry_request(const std::string& body, const Job& job) {
  RetryRequest out;
  Resources ask = job.ask;
  bool asks_anew = false;
  std::optional<std::uint64_t> not_there;
  BodyFields fields;
  fields.add("items", [&](const json::value& value) -> std::string {
    constexpr const char* kWrong = "must be a list of item indexes; omit it to retry all items";
    if (!value.is_array() || value.get_array().empty()) return kWrong;
    if (value.get_array().size() > kMostChosenItems) {
      return concat("lists more than ", kMostChosenItems, " items; use several calls, or retry all failed items");
    }
    for (const json::value& item : value.get_array()) {
      json::error_code error;
      const auto index = item.to_number<std::uint64_t>(error);
      if (error) return kWrong;
      if (index >= job.total) not_there = index;
      out.chosen.items.push_back(ItemIndex{index});
    }
    std::ranges::sort(out.chosen.items);
    const auto repeated = std::ranges::unique(out.chosen.items);
    out.chosen.items.erase(repeated.begin(), repeated.end());
    return {};
  });
  std::optional<std::int64_t> exit_code;
  std::optional<std::int64_t> signal;
  std::string ending;
  fields.add("exit_code", BodyFields::whole(kLeast32, kMost32, exit_code));
  fields.add("signal", BodyFields::whole(1, kMostSignal, signal));
  fields.add("ending",
             BodyFields::one_of({"exited", "signalled", "timed_out", "not_started", "stopped", "lost", "out_of_memory"},
                                ending));
  fields.add("cpus", BodyFields::real(0.001, 100'000, [&](double count) {
               ask.milli_cpus = static_cast<std::uint64_t>(std::llround(count * 1000));
               asks_anew = true;
             }));
  fields.add("memory", [&](const json::value& value) -> std::string {
    auto bytes = parse_size(BodyFields::measure_in(value));
    constexpr std::uint64_t kLeast = std::uint64_t{4} << 20;
    constexpr std::uint64_t kMost = 1'000'000'000'000'000;
    if (!bytes || *bytes < kLeast || *bytes > kMost) {
      return "must be a size such as \"512MiB\" or \"4G\", or a number of bytes, from 4 MiB to 1 PB";
    }
    ask.memory_bytes = *bytes;
    asks_anew = true;
    return {};
  });
  fields.add("gpus", BodyFields::whole(0, 1'000'000, [&](std::int64_t count) {
               ask.accelerators[0] = static_cast<std::uint64_t>(count);
               asks_anew = true;
             }));
  if (auto read = fields.read(body, "the retry request"); !read) return pass(read);
  if (not_there) {
    return fail(ErrorCode::not_found, concat("job ", job.name, " has no item ", *not_there),
                concat("items are numbered 0 to ", job.total - 1));
  }
  if (exit_code) out.chosen.exit_code = static_cast<std::int32_t>(*exit_code);
  if (signal) out.chosen.signal = static_cast<std::int32_t>(*signal);
  for (int value = 0; value <= static_cast<int>(Ending::out_of_memory); ++value) {
    if (ending == to_string(static_cast<Ending>(value))) out.chosen.ending = static_cast<Ending>(value);
  }
  if (asks_anew) out.ask = ask;
  return out;
}

}  // namespace

void NativeApi::upload_manifest(Asked asked, HttpReply reply) {
  auto& lines = static_cast<ItemLines&>(*asked.request.sink);
  const auto manifest = lines.manifest();
  if (!manifest) return reply.send(problem(manifest.error()));
  reply.send(json_response(201, json::object{{"manifest", manifest->id.value}, {"items", manifest->items}}));
}

// What only AWS's API says is in a form that it has checked.
Result<Node> NativeApi::own_document(const std::string& body) {
  auto document = job_document(body);
  if (document && document->find("aws_batch") != nullptr) {
    return fail(ErrorCode::bad_input, "field 'aws_batch' can only be set through the AWS Batch API", "remove it");
  }
  return document;
}

// What a named definition says is said under what the job says.
Result<Submission> NativeApi::submission_of(const std::string& body) {
  auto document = own_document(body);
  if (!document) return pass(document);
  const Node* reference = document->find("definition");
  if (reference == nullptr || reference->kind != Node::Kind::text || reference->text.empty()) {
    return submission_from(*document);
  }
  auto named = find_definition(reference->text);
  if (!named) return pass(named);
  if (!named->active) {
    return fail(ErrorCode::conflict, concat("definition '", named->name, ":", named->revision, "' is retired"),
                "use another revision, or omit the revision to use the newest");
  }
  auto text = backend_.definition(named->definition);
  if (!text) return pass(text);
  auto definition = job_document(*text);
  if (!definition) return fail(ErrorCode::damaged, "a stored definition is invalid");
  auto out = submission_from(job_over_definition(std::move(*definition), std::move(*document)));
  if (out) {
    out->named_definition = concat(named->name, ":", named->revision);
    // They are the definition's; the job may say something else.
    out->definition.aws_batch.clear();
  }
  return out;
}

void NativeApi::submit(Asked asked, HttpReply reply) {
  const auto refuse = [&](const Error& error) { reply.send(problem(error)); };
  auto submission = submission_of(asked.request.body);
  if (!submission) return refuse(submission.error());
  if (submission->name.empty()) submission->name = default_name(submission->definition);
  if (!is_valid_name(submission->name)) {
    return refuse({ErrorCode::bad_input, concat("invalid job name '", utf8(submission->name), "'"),
                   "use letters, digits, '_', '.' and '-', at most 128 characters"});
  }
  submitter_.submit(std::move(*submission), asked.asker.holder, asked.asker.owner(),
                    [reply = std::make_shared<HttpReply>(std::move(reply))](const Result<SubmittedJob>& job) {
                      if (!job) return reply->send(problem(job.error()));
                      json::object said{{"id", job->uuid.text()}, {"name", job->name}, {"total", job->total}};
                      said["notice"] = job->notice.empty() ? json::value(nullptr) : json::value(utf8(job->notice));
                      reply->send(json_response(201, said));
                    });
}

namespace {

json::object job_json(const JobView& view) {
  json::object out = job_to_json(view.job, view.counts);
  out["leased"] = view.in_hands;
  return out;
}

}  // namespace

void NativeApi::list_jobs(Asked asked, HttpReply reply) {
  auto limit = asked.number("limit", 100, 1, kMostListed);
  if (!limit) return reply.send(problem(limit.error()));
  JobFilter filter{.limit = *limit};
  const std::pair<const char*, std::string*> texts[] = {{"state", &filter.state},
                                                        {"name", &filter.name},
                                                        {"queue", &filter.queue},
                                                        {"owner", &filter.owner},
                                                        {"share", &filter.share}};
  for (const auto& [name, to] : texts) {
    if (const std::string* value = asked.parameter(name)) *to = *value;
  }
  if (!filter.state.empty() && !job_state_from(filter.state)) {
    return reply.send(problem({ErrorCode::bad_input, concat("invalid job state '", utf8(filter.state), "'"),
                               "use pending, running, succeeded, failed or cancelled"}));
  }
  if (const std::string* before = asked.parameter("before")) {
    auto job = job_of(*before);
    if (!job) return reply.send(problem(job.error()));
    filter.before = job->id;
  }
  const std::vector<JobView> jobs = backend_.list_jobs(filter);
  json::array out;
  for (const JobView& it : jobs) out.push_back(job_json(it));
  json::object body{{"jobs", std::move(out)}};
  body["next"] =
      jobs.size() == *limit && !jobs.empty() ? json::value(jobs.back().job.uuid.text()) : json::value(nullptr);
  reply.send(json_response(200, body));
}

// GPUs of this job's items that nothing has run on for a while: most likely it has items that wait for something else.
json::array NativeApi::idle_gpus(const JobView& view) {
  json::array out;
  if (view.job.ask.accelerators[kNvidia] == 0 || view.in_hands == 0) return out;
  const auto workers = backend_.workers();
  if (!workers) return out;
  for (const WorkerView& worker : *workers) {
    for (const DeviceState& it : worker.devices) {
      if (it.job != view.job.id || it.idle_ms < kLongIdleMs) continue;
      out.push_back(json::object{{"worker", utf8(worker.worker.name)},
                                 {"id", utf8(it.id)},
                                 {"index", it.index},
                                 {"item", it.item.value},
                                 {"idle_ms", it.idle_ms}});
    }
  }
  return out;
}

void NativeApi::show_job(Asked asked, HttpReply reply) {
  auto found = backend_.find_job(asked.parts[0]);
  if (!found) return reply.send(problem(found.error()));
  const Job& job = found->job;
  json::object out = job_json(*found);
  json::array after;
  for (const Dependency& it : job.after) {
    const auto other = backend_.find_job(it.job);
    after.push_back(json::object{{"job", other ? json::value(other->uuid.text()) : json::value(nullptr)},
                                 {"name", other ? json::value(other->name) : json::value(nullptr)},
                                 {"each", it.each}});
  }
  out["after"] = std::move(after);
  out["idle_gpus"] = idle_gpus(*found);
  out["timeout_ms"] = job.policy.timeout_ms == 0 ? json::value(nullptr) : json::value(job.policy.timeout_ms);
  out["grace_ms"] = job.policy.grace_ms;
  out["definition"] = nullptr;
  if (auto definition = backend_.definition(job.definition)) {
    json::error_code error;
    json::value parsed = json::parse(*definition, error);
    if (!error) out["definition"] = std::move(parsed);
  }
  out["waits_for"] = nullptr;
  // What is handed out may still wait for its image; nothing else is worth a question to the core.
  const json::value* definition = out.if_contains("definition");
  const bool has_image =
      definition != nullptr && definition->is_object() && definition->get_object().contains("container");
  if (job.ended() || (found->in_hands > 0 && !has_image)) return reply.send(json_response(200, out));
  ask_why(
      {job.id, std::nullopt}, asked.asker.holder,
      [out = std::move(out), reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Why>& why) mutable {
        const bool waits = why && why->code != WhyCode::ended && why->code != WhyCode::running &&
                           why->code != WhyCode::next && (why->in_hands == 0 || why->code == WhyCode::handed_out);
        if (waits) out["waits_for"] = utf8(why->sentence);
        reply->send(json_response(200, out));
      });
}

// The core's thread gathers the facts. It does not put them into words.
void NativeApi::ask_why(const AskWhy& question, const Holder& holder,
                        std::function<void(const Result<Why>&)> answered) {
  backend_.post(question, [this, holder, answered = std::move(answered)](Result<Effect> effect) {
    if (!effect) return answered(pass(effect));
    backend_.later(holder, [answered, facts = std::get<WhyFacts>(std::move(*effect))] { answered(in_words(facts)); });
  });
}

void NativeApi::say_why(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  AskWhy command{job->id, std::nullopt};
  if (asked.parameter("item") != nullptr) {
    auto item = asked.number("item", 0, 0, kMostItems);
    if (!item) return reply.send(problem(item.error()));
    command.item = ItemIndex{*item};
  }
  json::object said{{"id", job->uuid.text()},
                    {"name", job->name},
                    {"item", command.item ? json::value(command.item->value) : json::value(nullptr)}};
  ask_why(command, asked.asker.holder,
          [this, said = std::move(said),
           reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Why>& why) mutable {
            if (!why) return reply->send(problem(why.error()));
            const auto other = why->job ? backend_.find_job(why->job) : std::nullopt;
            said["code"] = to_string(why->code);
            said["reason"] = utf8(why->sentence);
            said["job"] = other ? json::value(other->uuid.text()) : json::value(nullptr);
            said["until_ms"] = why->until_ms == 0 ? json::value(nullptr) : json::value(why->until_ms);
            said["machine"] = why->machine.empty() ? json::value(nullptr) : json::value(why->machine);
            said["fleet"] = why->fleet.empty() ? json::value(nullptr) : json::value(why->fleet);
            said["places"] = why->places;
            said["workers"] = why->workers;
            reply->send(json_response(200, said));
          });
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

void NativeApi::remove_job(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  if (!job->ended()) {
    return reply.send(problem({ErrorCode::conflict, concat("job ", job->name, " has not ended"),
                               "cancel it, wait until it has ended, then remove it"}));
  }
  json::object said{{"id", job->uuid.text()}, {"name", job->name}, {"removed", true}};
  backend_.remove_job(job->id, [said = std::move(said),
                                reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
    if (!effect) return reply->send(problem(effect.error()));
    reply->send(json_response(200, said));
  });
}

void NativeApi::retry(Asked asked, HttpReply reply) {
  const auto refuse = [&](const Error& error) { reply.send(problem(error)); };
  auto job = job_of(asked.parts[0]);
  if (!job) return refuse(job.error());
  auto wanted = retry_request(asked.request.body, *job);
  if (!wanted) return refuse(wanted.error());
  auto chosen = count_chosen(backend_.ledger(), *job, wanted->chosen);
  if (!chosen) return refuse(chosen.error());
  // What never began runs with the rest.
  const std::uint64_t never_begun =
      job->ended() ? job->total - job->succeeded - job->failed - job->cancelled : std::uint64_t{0};
  json::object said{{"id", job->uuid.text()}, {"name", job->name}, {"items", *chosen + never_begun}};
  const bool is_stopping = !job->ended() && job->stop != StopCause::none;
  if (*chosen == 0 && !is_stopping && (never_begun == 0 || wanted->chosen.has_conditions())) {
    said["items"] = 0;
    return reply.send(json_response(200, said));
  }
  auto command = begin_reopening(backend_.ledger(), *job, wanted->chosen);
  if (!command) return refuse(command.error());
  command->ask = wanted->ask;
  backend_.post(std::move(*command), [said = std::move(said), reply = std::make_shared<HttpReply>(std::move(reply))](
                                         const Result<Effect>& effect) mutable {
    reply->send(effect ? json_response(200, said) : problem(effect.error()));
  });
}

}  // namespace drover
