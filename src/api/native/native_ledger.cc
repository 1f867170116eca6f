// What happened, what it took, and questions in SQL.
#include <map>

#include "api/json_reply.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/base64.h"
#include "wire/body_fields.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::int64_t kMostRows = 100'000;

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

/// A text that is there already, with what is to be kept until it was sent.
class SharedText : public HttpBodySource {
 public:
  SharedText(std::string text, std::shared_ptr<const void> share) : text_(std::move(text)), share_(std::move(share)) {}
  Result<std::string> next() override { return std::exchange(text_, {}); }

 private:
  std::string text_;
  std::shared_ptr<const void> share_;
};

}  // namespace

// A list, or a stream that goes on: what the caller says it accepts decides.
void NativeApi::list_events(Asked asked, HttpReply reply) {
  auto limit = asked.number("limit", 1000, 1, kMostListed);
  if (!limit) return reply.send(problem(limit.error()));
  auto after = asked.number("after", 0, 0, std::numeric_limits<std::int64_t>::max());
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
        return reply.send(problem({ErrorCode::bad_input, "invalid Last-Event-ID: it must be an event number", {}}));
      *after = *number;
    } else if (asked.parameter("after") == nullptr) {
      *after = std::numeric_limits<std::int64_t>::max();  // from now on
    }
    auto begun = backend_.follow_events(EventId{*after}, job, asked.asker.holder, asked.asker.caller.key_id, [&] {
      return reply.stream({.status = 200,
                           .headers = {{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}},
                           .body = {}});
    });
    if (!begun) reply.send(too_many(begun.error()));
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
  auto by = asked.choice("by", {"owner", "queue", "share", "job"});
  if (!by) return reply.send(problem(by.error()));
  const std::string& what = *by;
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
  constexpr std::size_t kLongestQuery = std::size_t{1} << 20;
  std::string query;
  std::uint64_t most = 10'000;
  BodyFields fields;
  fields.add("query", BodyFields::text(kLongestQuery, query));
  fields.add("limit", BodyFields::whole(1, kMostRows, most));
  if (auto read = fields.read(asked.request.body, "the query"); !read) return reply.send(problem(read.error()));
  if (query.empty()) {
    return reply.send(problem({ErrorCode::bad_input, "field 'query' is missing",
                               "send {\"query\": \"select state, count(*) from items group by 1\"}"}));
  }
  backend_.ask_sql(
      std::move(query), most, asked.asker.holder,
      [reply = std::make_shared<HttpReply>(std::move(reply))](const Result<SqlAnswer>& answer) {
        if (!answer) {
          const bool is_limit = answer.error().code == ErrorCode::in_use;
          return reply->send(is_limit ? too_many(answer.error()) : problem(answer.error()));
        }
        json::array rows;
        for (const auto& row : answer->rows) {
          json::array cells;
          for (const SqlCell& cell : row) cells.push_back(sql_cell(cell));
          rows.push_back(std::move(cells));
        }
        json::array columns;
        for (const std::string& name : answer->columns) columns.emplace_back(utf8(name));
        HttpResponse response = json_response(
            200, json::object{{"columns", std::move(columns)}, {"rows", std::move(rows)}, {"cut", answer->cut}});
        response.headers.push_back({"Content-Length", std::to_string(response.body.size())});
        auto body = std::make_unique<SharedText>(std::exchange(response.body, {}), answer->share);
        reply->send(std::move(response), std::move(body));
      });
}

}  // namespace drover
