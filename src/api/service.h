// A service is one API that the server offers: the native one, the calls of workers, one of AWS's. The router finds the
// service that a request is for, and the service resolves the request once, when its head is there: what it takes to be
// allowed, how its body is read, and what is done then.
//
// To add one: a folder below api/ with a class of this kind, and a line in Server::Parts::make_services()
// (server/server.cc).
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/identity.h"
#include "api/problem.h"
#include "keys/caller.h"
#include "ports/http.h"

namespace drover {

/// Who sent a request, once that is certain.
struct Asker {
  Caller caller;
  Holder holder = {};
  /// Whether the key is still valid: it may be removed, or expire, while something is followed. From any thread.
  std::function<bool()> is_valid = [] { return true; };

  /// By what people know them.
  const std::string& owner() const { return caller.label.empty() ? caller.key_id : caller.label; }
};

/// What a caller must be allowed to do.
struct Permission {
  std::optional<Action> action;  // nothing: any key will do
  std::string what;              // for people: "manage keys"
  std::string job = {};          // a reference: a key for this job alone will do, too
  bool judges_sessions = false;  // the service decides itself what sessions of AWS's clients may do; else nothing
  bool judges_grants = false;    // and what keys for one bucket may do
};

/// Whether the server's log has a line for each request, or only for those that fail.
enum class LogRequests : std::uint8_t { none, failures, all };

/// A request that a service has recognised by its head.
struct ServiceCall {
  std::optional<Permission> needs;  // nothing: it takes no key
  std::uint64_t most_bytes = 0;     // of its body
  std::unique_ptr<HttpBodySink> sink = {};
  std::optional<HttpResponse> refusal = {};  // the answer to a caller with permission: the body is not read
  LogRequests log = LogRequests::failures;
  /// On an I/O thread: must not wait.
  std::move_only_function<void(HttpRequest, HttpReply, Asker)> handle;
};

class Service {
 public:
  virtual ~Service() = default;
  /// Whether the request is for this service.
  virtual bool owns(const HttpHead& head) const = 0;
  /// What is asked for, of a request that it owns; or the answer, if there is no such call. Must not wait.
  virtual std::expected<ServiceCall, HttpResponse> resolve(const HttpHead& head) = 0;
  /// For callers whose rights it decides itself, once they are known and before the body is read: what one is answered
  /// who may not, if the head says enough. `sink`: of the call. Must not wait.
  virtual std::optional<HttpResponse> judge(const HttpHead& /*head*/, const Asker& /*asker*/, HttpBodySink* /*sink*/) {
    return std::nullopt;
  }
  /// An error as the client that sent this expects it.
  virtual HttpResponse error(const HttpHead& /*head*/, int status, const Error& error) const {
    return problem(status, error);
  }
  /// What a caller who is not let in is answered.
  virtual HttpResponse refuse(const HttpHead& head, const Refusal& refusal) const {
    return error(head, 401, refusal.error);
  }
};

/// Requests that only read are logged if they fail, all others always.
inline LogRequests log_by_method(const HttpHead& head) {
  return head.method == "GET" || head.method == "HEAD" ? LogRequests::failures : LogRequests::all;
}

}  // namespace drover
