#include "api/problem.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/problem_json.h"

namespace drover {

namespace {

constexpr ErrorMeaning kMeanings[] = {
    {ErrorCode::bad_input, 400, "The request cannot be right: `detail` names the field or parameter and what it takes.",
     "Mend the request. Sending it again changes nothing."},
    {ErrorCode::denied, 403,
     "Who asks may not do that. With status 401 there is no key, or one that the server does not know.",
     "Send `Authorization: Bearer KEY` with a key of the scope that `detail` speaks of; `GET /api/v1/self` says what a "
     "key may."},
    {ErrorCode::not_found, 404, "There is no such job, item, worker, queue, definition, fleet, key or path.",
     "Look at the list of what there is; ended jobs are forgotten after a while."},
    {ErrorCode::bad_method, 405,
     "There is such a path, but not for this method. The header `Allow` names those it is for.",
     "`GET /api/v1/` lists the calls."},
    {ErrorCode::conflict, 409, "It does not fit what there is now, or that changed meanwhile.",
     "Read it again and decide anew; `next` says what would be needed."},
    {ErrorCode::in_use, 409, "Somebody else holds it, or as many use it as may.", "Wait a little and send it again."},
    {ErrorCode::read_only, 500, "The server cannot write its data folder.",
     "Mend the folder's owner and mode; the server's log names the file."},
    {ErrorCode::damaged, 500, "Something that was stored cannot be read back.",
     "Look for `request_id` in the server's log; `drover doctor` checks the ledger, and docs/operations.md speaks of "
     "backups."},
    {ErrorCode::newer_schema, 500, "The data was written by a later version of Drover.",
     "Run that version, or a later one."},
    {ErrorCode::io, 500, "Any other trouble of the server with files, sockets or processes.",
     "Look for `request_id` in the server's log."},
    {ErrorCode::stopped, 503, "The server is stopping, or an earlier error stopped it.",
     "Send it again in a while; nothing of this request was done."},
    {ErrorCode::unreachable, 503, "Nobody answers at the other end.", "See that the server runs, and its address."},
    {ErrorCode::timeout, 504, "There was no answer in time. What was asked for may have been done, or not.",
     "Look whether it was done; a job with a `client_token` can just be sent again."},
    {ErrorCode::no_space, 507,
     "The server's disk is nearly full: it takes no new jobs, so that what runs can still report.",
     "Make room, or have less kept: docs/operations.md."},
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
  HttpResponse response = problem({ErrorCode::bad_method, concat(utf8(head.method), " is not for ", utf8(head.path)),
                                   concat("it takes ", allowed)});
  response.headers.push_back({"Allow", allowed});
  return response;
}

HttpResponse problem(int status, const Error& error) {
  return {.status = status,
          .headers = {{"Content-Type", std::string(kProblemType)}},
          .body = problem_to_json(status, error)};
}

HttpResponse problem(const Error& error) {
  return problem(http_status(error.code), error);
}

}  // namespace drover
