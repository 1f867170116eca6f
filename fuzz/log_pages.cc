// The lines of a log, read page by page: a byte for the size of pages, a token that nobody gave, then the lines.
// Whichever way the pages are read, every line is in one of them.
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <limits>
#include <optional>

#include "api/logs/logs.h"
#include "aws_server.h"
#include "base/text.h"
#include "base/utf8.h"
#include "fuzzed.h"

namespace drover {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostLines = 64;

struct Logs {
  AwsBackend backend;
  aws::Account account;
  aws::LogsApi api{backend, account, [] { return AwsBackend::kNowMs; }};

  HttpResponse call(std::string_view operation, const json::object& input) {
    HttpRequest request;
    request.head.method = "POST";
    request.head.headers = {{"X-Amz-Target", concat("Logs_20140328.", operation)}};
    request.body = json::serialize(input);
    const auto exchange = std::make_shared<FakeExchange>();
    auto resolved = api.resolve(request.head);
    DROVER_CHECK(resolved.has_value(), "the operation is known");
    resolved->handle(std::move(request), HttpReply(exchange), {.caller = {.scope = Scope::admin}});
    std::optional<HttpResponse> answer = std::move(exchange->answer);
    DROVER_CHECK(answer && answer->status < 500, "every call is answered, and breaks nothing");
    return std::move(*answer);
  }

  json::object page(std::string_view operation, const json::object& input) {
    const HttpResponse answer = call(operation, input);
    DROVER_CHECK(answer.status == 200, "a token that was returned is accepted");
    return json::parse(answer.body).as_object();
  }
};

std::vector<std::string> messages(const json::object& page) {
  std::vector<std::string> out;
  for (const json::value& it : page.at("events").as_array()) out.emplace_back(it.at("message").as_string());
  return out;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// Follows a token until it stays the same. Pages are in the order in which they came.
std::vector<std::vector<std::string>> walk(Logs& logs, json::object input, std::string_view token) {
  std::vector<std::vector<std::string>> out;
  while (true) {
    const json::object page = logs.page("GetLogEvents", input);
    out.push_back(messages(page));
    const json::value& next = page.at(token);
    const json::value* last = input.if_contains("nextToken");
    if (last != nullptr && *last == next) return out;
    DROVER_CHECK(out.size() <= kMostLines + 2, "a walk ends");
    input["nextToken"] = next;
  }
}

std::vector<std::string> filtered(Logs& logs, json::object input) {
  std::vector<std::string> out;
  for (std::size_t pages = 0; pages <= kMostLines + 2; ++pages) {
    const json::object page = logs.page("FilterLogEvents", input);
    append(out, messages(page));
    const json::value* next = page.if_contains("nextToken");
    if (next == nullptr) return out;
    input["nextToken"] = *next;
  }
  DROVER_CHECK(false, "a walk ends");
}

}  // namespace

void fuzz_one(std::string_view bytes) {
  static Logs logs;
  Choices choices(bytes);
  const std::size_t limit = 1 + choices.below(kMostLines);
  std::string text = utf8(choices.rest());
  const std::string token = text.substr(0, text.find('\n'));
  text.erase(0, token.size() + 1);
  logs.backend.lines.clear();
  while (!text.empty() && logs.backend.lines.size() < kMostLines) {
    logs.backend.lines.push_back(text.substr(0, text.find('\n')));
    text.erase(0, logs.backend.lines.back().size() + 1);
  }
  const std::vector<std::string>& lines = logs.backend.lines;
  const std::string stream = concat(aws::kNativeDefinition, "/default/", AwsBackend::kJob, ".0");
  json::object get{{"logGroupName", aws::kBatchLogGroup}, {"logStreamName", stream}, {"limit", limit}};
  json::object filter{{"logGroupName", aws::kBatchLogGroup}, {"logStreamNames", {stream}}, {"limit", limit}};

  std::vector<std::string> back;
  for (const auto& page : walk(logs, get, "nextBackwardToken")) back.insert(back.begin(), page.begin(), page.end());
  DROVER_CHECK(back == lines, "pages from the end have every line once");
  get["startFromHead"] = true;
  std::vector<std::string> forth;
  for (const auto& page : walk(logs, get, "nextForwardToken")) append(forth, page);
  DROVER_CHECK(forth == lines, "pages from the beginning have every line once");
  DROVER_CHECK(filtered(logs, filter) == lines, "a search for nothing in particular finds every line once");
  filter["endTime"] = std::numeric_limits<std::int64_t>::max();
  DROVER_CHECK(filtered(logs, filter) == lines, "a search without an end in sight does, too");

  get["nextToken"] = token;
  filter["nextToken"] = token;
  logs.call("GetLogEvents", get);
  logs.call("FilterLogEvents", filter);
  logs.call("DescribeLogStreams", {{"logGroupName", aws::kBatchLogGroup}, {"nextToken", token}});
}

}  // namespace drover
