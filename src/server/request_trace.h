// What is known of one request from its arrival to its answer: its id, which the answer and the log name too.
#pragma once

#include <string>

#include "api/service.h"
#include "ports/http.h"
#include "server/failure_log.h"
#include "server/metrics.h"
#include "server/server_log.h"

namespace drover {

/// The client's X-Request-Id, if it is a short word of letters, digits and ._:-, else a new one.
std::string request_id(const HttpHead& head);

/// Puts the id on an answer: in its head, and in a problem's body.
void mark_answer(HttpResponse& response, const std::string& id);

/// A reply that marks its answer and tells the logs of it.
HttpReply traced(HttpReply reply, RequestLine line, LogRequests which, ServerLog& log, FailureLog& failures,
                 Metrics& metrics);

}  // namespace drover
