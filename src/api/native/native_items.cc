// Items of a job, their logs, and searches in these.
#include <algorithm>

#include "api/json_reply.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kMostAttempts = 1'000'000;

HttpResponse log_head(LogForm form) {
  const char* type = form == LogForm::json ? "application/x-ndjson" : "text/plain; charset=utf-8";
  return {.status = 200, .headers = {{"Content-Type", type}}, .body = {}};
}

Result<ItemIndex> item_of(const Job& job, const std::string& text) {
  const auto index = parse_number(text);
  if (index && *index < job.total) return ItemIndex{*index};
  return fail(ErrorCode::not_found, concat("job ", job.name, " has no item ", utf8(text)),
              concat("items are numbered 0 to ", job.total == 0 ? 0 : job.total - 1));
}

json::object item_json(const ItemView& item) {
  json::object out{{"index", item.item.value},
                   {"state", item.state},
                   {"attempts", item.attempts},
                   {"last", item.last ? json::value(attempt_to_json(*item.last)) : json::value(nullptr)}};
  put_item_text(out, item.text);
  out["worker"] = item.worker.empty() ? json::value(nullptr) : json::value(item.worker);
  out["since_ms"] = item.since_ms == 0 ? json::value(nullptr) : json::value(item.since_ms);
  return out;
}

}  // namespace

void NativeApi::send_stored_log(const LogQuestion& question, const std::vector<Attempt>& attempts, HttpReply reply) {
  const bool is_known =
      question.attempt.value == 0 || std::ranges::find(attempts, question.attempt, &Attempt::attempt) != attempts.end();
  if (!is_known) {
    return reply.send(
        problem({ErrorCode::not_found, concat("item ", question.item.value, " has no attempt ", question.attempt.value),
                 concat("it has ", plural(attempts.size(), "attempt"), "; GET the item for its history")}));
  }
  auto source = backend_.log(question, attempts);
  if (!source) return reply.send(problem(source.error()));
  reply.send(log_head(question.form), std::move(*source));
}

void NativeApi::list_items(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto from = asked.number("from", 0, 0, kMostItems);
  if (!from) return reply.send(problem(from.error()));
  auto limit = asked.number("limit", 100, 1, kMostListed);
  if (!limit) return reply.send(problem(limit.error()));
  const std::string* state = asked.parameter("state");
  auto sort = asked.choice("sort", {"index", "duration", "memory", "gpu"});
  if (!sort) return reply.send(problem(sort.error()));
  if (*sort != "index") {
    if (state != nullptr) {
      return reply.send(
          problem({ErrorCode::bad_input, "'sort' cannot be combined with 'state'", "omit 'sort' or 'state'"}));
    }
    const AttemptOrder order = *sort == "duration" ? AttemptOrder::longest
                               : *sort == "memory" ? AttemptOrder::largest
                                                   : AttemptOrder::busiest;
    return list_largest(*job, order, *from, *limit, std::move(reply));
  }
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

// Of those that have ended, whoever took longest or most. `from` counts places in that order.
void NativeApi::list_largest(const Job& job, AttemptOrder order, std::uint64_t from, std::uint64_t limit,
                             HttpReply reply) {
  // All of them are in memory at once.
  constexpr std::uint64_t kMostSorted = 100'000;
  if (from + limit > kMostSorted) {
    return reply.send(problem({ErrorCode::bad_input,
                               concat("'sort' goes no further than the first ", format_count(kMostSorted), " items"),
                               "list all items in the order of their indexes, and sort them yourself"}));
  }
  auto items = backend_.ended_items(job, order, from, limit);
  if (!items) return reply.send(problem(items.error()));
  json::array out;
  for (const ItemView& item : *items) out.push_back(item_json(item));
  json::object body{{"items", std::move(out)}};
  body["next"] = items->size() == limit ? json::value(from + limit) : json::value(nullptr);
  reply.send(json_response(200, body));
}

void NativeApi::list_failures(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto groups = backend_.ledger().failures(job->id);
  if (!groups) return reply.send(problem(groups.error()));
  json::array out;
  for (const FailedAlike& it : *groups) {
    out.push_back(
        json::object{{"ending", to_string(it.ending)},
                     {"exit_code", it.exit_code ? json::value(*it.exit_code) : json::value(nullptr)},
                     {"signal", it.signal ? json::value(*it.signal) : json::value(nullptr)},
                     {"items", it.items},
                     {"example", it.example.value},
                     {"reason", utf8(it.reason)},
                     {"last_line", it.last_line.empty() ? json::value(nullptr) : json::value(utf8(it.last_line))}});
  }
  reply.send(json_response(200, json::object{{"failures", std::move(out)}}));
}

void NativeApi::show_item(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto index = item_of(*job, asked.parts[1]);
  if (!index) return reply.send(problem(index.error()));
  auto items = backend_.items(*job, {*index, 1, ""});
  if (!items) return reply.send(problem(items.error()));
  if (items->empty()) {  // the job was deleted since it was looked up
    return reply.send(problem({ErrorCode::not_found, concat("job ", job->name, " has no item ", index->value), {}}));
  }
  json::object out = item_json(items->front());
  auto attempts = backend_.attempts(job->id, *index);
  if (!attempts) return reply.send(problem(attempts.error()));
  json::array history;
  for (const Attempt& attempt : *attempts) {
    json::object& it = history.emplace_back(attempt_to_json(attempt)).as_object();
    auto worker = backend_.ledger().worker_name(attempt.worker);
    if (!worker) return reply.send(problem(worker.error()));
    it["worker"] = worker->empty() ? json::value(nullptr) : json::value(*worker);
  }
  out["history"] = std::move(history);
  reply.send(json_response(200, out));
}

void NativeApi::show_log(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  auto index = item_of(*job, asked.parts[1]);
  if (!index) return reply.send(problem(index.error()));
  auto attempt = asked.number("attempt", 0, 0, kMostAttempts);
  if (!attempt) return reply.send(problem(attempt.error()));
  auto tail = asked.number("tail", 0, 0, 1'000'000'000);
  if (!tail) return reply.send(problem(tail.error()));
  auto skip = asked.number("skip", 0, 0, std::numeric_limits<std::int64_t>::max());
  if (!skip) return reply.send(problem(skip.error()));
  auto stream = asked.choice("stream", {"", "stderr"});
  if (!stream) return reply.send(problem(stream.error()));
  auto form = asked.choice("form", {"", "json"});
  if (!form) return reply.send(problem(form.error()));
  auto follow = asked.flag("follow");
  if (!follow) return reply.send(problem(follow.error()));
  const LogQuestion question{.job = job->id,
                             .item = *index,
                             .attempt = AttemptNumber{static_cast<std::uint32_t>(*attempt)},
                             .only_stderr = *stream == "stderr",
                             .tail = *tail,
                             .skip = *skip,
                             .follow = *follow,
                             .form = *form == "json" ? LogForm::json : LogForm::text,
                             .holder = asked.asker.holder,
                             .may_still = asked.asker.is_valid};
  if (question.follow || *skip > 0) return send_running_log(question, std::move(reply));
  auto attempts = backend_.attempts(question.job, question.item);
  if (!attempts) return reply.send(problem(attempts.error()));
  if (!attempts->empty() && attempts->back().settled) return send_stored_log(question, *attempts, std::move(reply));
  // What the item prints right now only its worker knows; the core knows whether there is one.
  backend_.post(Watch{job->id, question.item},
                [this, question, reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  const auto* watched = effect ? std::get_if<Watched>(&*effect) : nullptr;
                  const bool runs = watched != nullptr && watched->running &&
                                    (question.attempt.value == 0 || question.attempt == watched->running->attempt);
                  if (runs) return send_running_log(question, std::move(*reply));
                  backend_.later(question.holder, [this, question, reply] {
                    auto ended = backend_.attempts(question.job, question.item);
                    if (!ended) return reply->send(problem(ended.error()));
                    send_stored_log(question, *ended, std::move(*reply));
                  });
                });
}

void NativeApi::send_running_log(const LogQuestion& question, HttpReply reply) {
  auto begun = backend_.log_of_running(question, [&] { return reply.stream(log_head(question.form)); });
  if (!begun) reply.send(too_many(begun.error()));
}

void NativeApi::search_logs(Asked asked, HttpReply reply) {
  auto job = job_of(asked.parts[0]);
  if (!job) return reply.send(problem(job.error()));
  const std::string* pattern = asked.parameter("grep");
  if (pattern == nullptr || pattern->empty()) {
    return reply.send(problem({ErrorCode::bad_input, "parameter 'grep' is missing", "set it to a regular expression"}));
  }
  auto limit = asked.number("limit", 1000, 1, 1'000'000);
  if (!limit) return reply.send(problem(limit.error()));
  auto failed = asked.flag("failed");
  if (!failed) return reply.send(problem(failed.error()));
  auto ignore_case = asked.flag("ignore_case");
  if (!ignore_case) return reply.send(problem(ignore_case.error()));
  backend_.search({.job = job->id,
                   .pattern = *pattern,
                   .only_failed = *failed,
                   .ignore_case = *ignore_case,
                   .limit = *limit,
                   .holder = asked.asker.holder,
                   .may_still = asked.asker.is_valid},
                  std::move(reply));
}

}  // namespace drover
