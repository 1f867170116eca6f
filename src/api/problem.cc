#include "api/problem.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/problem_json.h"

namespace drover {

namespace {

constexpr ErrorMeaning kMeanings[] = {
    {ErrorCode::bad_input, 400, "The request is invalid: `detail` names the field or parameter and what it accepts.",
     "Fix the request; retrying it unchanged will fail again."},
    {ErrorCode::denied, 403,
     "Permission denied: the key does not allow this. With status 401 the key is missing or unknown to the server.",
     "Send `Authorization: Bearer KEY` with a key that has the scope named in `detail`; `GET /api/v1/self` shows what "
     "a "
     "key allows."},
    {ErrorCode::not_found, 404, "The job, item, worker, queue, definition, fleet, key or path does not exist.",
     "List the existing resources; ended jobs are deleted after the retention period."},
    {ErrorCode::bad_method, 405,
     "The path does not support this method. The `Allow` header lists the supported methods.",
     "`GET /api/v1/` lists the endpoints."},
    {ErrorCode::conflict, 409,
     "The request conflicts with the current state, or the state has changed in the meantime.",
     "Read the current state and decide again; `next` says what is required."},
    {ErrorCode::in_use, 409,
     "Another process is using the resource. With status 429: this key, or all keys together, have reached a limit.",
     "Retry later."},
    {ErrorCode::read_only, 500, "The server cannot write to its data folder.",
     "Fix the folder's owner and mode; the server's log names the file."},
    {ErrorCode::damaged, 500, "Stored data cannot be read.",
     "Look for `request_id` in the server's log; `drover doctor` checks the ledger, and docs/operations.md describes "
     "backups."},
    {ErrorCode::newer_schema, 500, "The data was written by a newer version of Drover.",
     "Use that version, or a newer one."},
    {ErrorCode::io, 500, "Any other file, socket or process error on the server.",
     "Look for `request_id` in the server's log."},
    {ErrorCode::stopped, 503, "The server is stopping, or an earlier error stopped it.",
     "Retry later; no part of this request was carried out."},
    {ErrorCode::unreachable, 503, "The server is unreachable.",
     "Check that the server is running, and that the address is right."},
    {ErrorCode::timeout, 504, "The request timed out. It may or may not have been carried out.",
     "Check whether it was carried out; a job with a `client_token` can safely be submitted again."},
    {ErrorCode::no_space, 507,
     "The server's disk is nearly full: it accepts no new jobs, so that running items can still report their results.",
     "Free some space, or shorten the retention: docs/operations.md."},
};

}  // namespace

std::span<const ErrorMeaning> error_meanings() {
  return kMeanings;
}

int http_status(ErrorCode code) {
  const auto* it = std::ranges::find(kMeanings, code, &ErrorMeaning::code);
  DROVER_CHECK(it != std::end(kMeanings), "every code has a status");
  return it->status;
}

HttpResponse bad_method(const HttpHead& head, const std::string& allowed) {
  HttpResponse response =
      problem({ErrorCode::bad_method, concat("method ", utf8(head.method), " not allowed for ", utf8(head.path)),
               concat("allowed methods: ", allowed)});
  response.headers.push_back({"Allow", allowed});
  return response;
}

HttpResponse problem(int status, const Error& error) {
  return {.status = status,
          .headers = {{"Content-Type", std::string(kProblemType)}},
          .body = problem_to_json(status, error)};
}

HttpResponse too_many(const Error& error) {
  HttpResponse response = problem(429, error);
  response.headers.push_back({"Retry-After", "1"});
  return response;
}

HttpResponse problem(const Error& error) {
  return problem(http_status(error.code), error);
}

}  // namespace drover
