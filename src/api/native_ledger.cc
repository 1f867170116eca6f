// What happened, what it took, and questions in SQL.
#include <map>

#include "api/json_reply.h"
#include "api/native.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/base64.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kMostListed = 10'000;
constexpr std::uint64_t kMostRows = 100'000;

struct UsageLine {
  std::uint64_t jobs = 0;
  std::uint64_t items = 0;
  JobUsage used;
};

json::value sql_cell(const SqlCell& cell) {
  if (const auto* number = std::get_if<std::int64_t>(&cell)) return *number;
  if (const auto* text = std::get_if<std::string>(&cell)) return json::string(utf8(*text));
  if (const auto* bytes = std::get_if<Bytes>(&cell)) return json::string(base64(bytes->value));
  return nullptr;
}

}  // namespace

// A list, or a stream that goes on: what the caller says it accepts decides.
void NativeApi::list_events(Asked asked, HttpReply reply) {
  auto limit = asked.number("limit", 1000, kMostListed);
  if (!limit) return reply.send(problem(limit.error()));
  if (*limit == 0) return reply.send(problem({ErrorCode::bad_input, "parameter 'limit' is not at least 1", {}}));
  auto after = asked.number("after", 0, std::numeric_limits<std::int64_t>::max());
  if (!after) return reply.send(problem(after.error()));
  std::string job;
  if (const std::string* reference = asked.parameter("job")) {
    auto found = job_of(*reference);
    if (!found) return reply.send(problem(found.error()));
    job = found->uuid.text();
  }
  const std::string* accept = asked.request.head.header("Accept");
  if (accept != nullptr && accept->contains("text/event-stream")) {
    if (const std::string* last = asked.request.head.header("Last-Event-ID")) {
      auto number = parse_number(*last);
      if (!number)
        return reply.send(problem({ErrorCode::bad_input, "Last-Event-ID is not the number of an event", {}}));
      *after = *number;
    } else if (asked.parameter("after") == nullptr) {
      *after = std::numeric_limits<std::int64_t>::max();  // from now on
    }
    auto begun = backend_.follow_events(EventId{*after}, job, asked.caller.key_id, [&] {
      return reply.stream({.status = 200,
                           .headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}},
                           .body = {}});
    });
    if (!begun) reply.send(problem(begun.error()));
    return;
  }
  json::array out;
  auto read = backend_.ledger().each_event(EventId{*after}, [&](const Event& event) {
    if (job.empty() || event.job == job) out.push_back(event_to_json(event));
    return out.size() < *limit;
  });
  if (!read) return reply.send(problem(read.error()));
  reply.send(json_response(200, json::object{{"events", std::move(out)}}));
}

void NativeApi::show_usage(Asked asked, HttpReply reply) {
  const std::string* by = asked.parameter("by");
  const std::string what = by == nullptr ? "owner" : *by;
  if (what != "owner" && what != "queue" && what != "share" && what != "job") {
    return reply.send(problem(
        {ErrorCode::bad_input, concat("usage is not kept by '", utf8(what), "'"), "say owner, queue, share or job"}));
  }
  std::map<std::string, UsageLine> lines;
  for (const JobView& it : backend_.list_jobs({.limit = std::numeric_limits<std::uint64_t>::max()})) {
    const Job& job = it.job;
    const std::string key = what == "owner"   ? job.place.owner
                            : what == "queue" ? job.place.queue
                            : what == "share" ? job.place.share
                                              : job.uuid.text();
    UsageLine& line = lines[key];
    ++line.jobs;
    line.items += job.succeeded + job.failed + job.cancelled;
    line.used += job.used;
  }
  if (what == "owner") {
    auto accounts = backend_.ledger().accounts();
    if (!accounts) return reply.send(problem(accounts.error()));
    for (const Account& it : *accounts) {
      UsageLine& line = lines[it.owner];
      line.jobs += static_cast<std::uint64_t>(it.jobs);
      line.used += it.used;
    }
  }
  json::array out;
  for (const auto& [key, line] : lines) {
    json::object row = usage_to_json(line.used);
    row[what] = key.empty() ? json::value(nullptr) : json::value(utf8(key));
    row["jobs"] = line.jobs;
    row["settled_items"] = line.items;
    out.push_back(std::move(row));
  }
  reply.send(json_response(200, json::object{{"by", what}, {"usage", std::move(out)}}));
}

void NativeApi::ask_sql(Asked asked, HttpReply reply) {
  auto body = object_in(asked.request.body);
  if (!body) return reply.send(problem(body.error()));
  const json::value* query = body->if_contains("query");
  if (query == nullptr || !query->is_string() || query->get_string().empty()) {
    return reply.send(problem({ErrorCode::bad_input, "field 'query' is missing",
                               "send {\"query\": \"select state, count(*) from items group by 1\"}"}));
  }
  std::uint64_t most = 10'000;
  if (const json::value* limit = body->if_contains("limit")) {
    json::error_code error;
    most = limit->to_number<std::uint64_t>(error);
    if (error || most == 0 || most > kMostRows) {
      return reply.send(
          problem({ErrorCode::bad_input, concat("field 'limit' is not a whole number from 1 to ", kMostRows), {}}));
    }
  }
  for (const auto& [name, value] : *body) {
    if (name != "query" && name != "limit") {
      return reply.send(
          problem({ErrorCode::bad_input, concat("field '", utf8(std::string_view(name)), "' is not known"),
                   "there are query and limit"}));
    }
  }
  backend_.ask_sql(
      std::string(query->get_string()), most,
      [reply = std::make_shared<HttpReply>(std::move(reply))](const Result<SqlAnswer>& answer) {
        if (!answer) return reply->send(problem(answer.error()));
        json::array rows;
        for (const auto& row : answer->rows) {
          json::array cells;
          for (const SqlCell& cell : row) cells.push_back(sql_cell(cell));
          rows.push_back(std::move(cells));
        }
        json::array columns;
        for (const std::string& name : answer->columns) columns.emplace_back(utf8(name));
        reply->send(json_response(
            200, json::object{{"columns", std::move(columns)}, {"rows", std::move(rows)}, {"cut", answer->cut}}));
      });
}

}  // namespace drover
