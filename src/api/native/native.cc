#include "api/native/native.h"

#include <set>

#include "api/native/item_lines.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

namespace drover {
namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::uint64_t kLargestJob = std::uint64_t{64} << 20;   // with its items in it
constexpr std::uint64_t kLargestSend = std::uint64_t{16} << 20;  // of messages in one request

/// What stands where the path has stars goes to `parts`.
bool fits(const std::vector<std::string>& segments, const std::string& path, std::vector<std::string>& parts) {
  const auto wanted = path_segments(path);
  if (!wanted || wanted->size() != segments.size()) return false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if ((*wanted)[i] == "*") {
      parts.push_back(segments[i]);
    } else if ((*wanted)[i] != segments[i]) {
      return false;
    }
  }
  return true;
}

}  // namespace

const std::vector<NativeApi::Route>& NativeApi::routes() {
  using enum Action;
  constexpr std::nullopt_t anybody = std::nullopt;
  static const std::vector<Route> table = {
      {"GET", "", read, false, &NativeApi::list_calls},
      {"GET", "errors", read, false, &NativeApi::list_errors},
      {"GET", "openapi.yaml", read, false, &NativeApi::show_description},
      {"GET", "self", anybody, false, &NativeApi::show_self},
      {"POST", "manifests", submit, false, &NativeApi::upload_manifest, "separator"},
      {"POST", "jobs", submit, false, &NativeApi::submit},
      {"GET", "jobs", read, false, &NativeApi::list_jobs, "state name queue owner share before limit"},
      {"GET", "jobs/*", read, true, &NativeApi::show_job},
      {"DELETE", "jobs/*", change_job, true, &NativeApi::remove_job},
      {"POST", "jobs/*/cancel", change_job, true, &NativeApi::cancel},
      {"POST", "jobs/*/retry", change_job, true, &NativeApi::retry},
      {"GET", "jobs/*/why", read, true, &NativeApi::say_why, "item"},
      {"GET", "jobs/*/failures", read, true, &NativeApi::list_failures},
      {"GET", "jobs/*/items", read, true, &NativeApi::list_items, "state sort from limit"},
      {"GET", "jobs/*/items/*", read, true, &NativeApi::show_item},
      {"GET", "jobs/*/items/*/log", read, true, &NativeApi::show_log, "attempt tail stream form follow skip"},
      {"GET", "jobs/*/search", read, true, &NativeApi::search_logs, "grep failed ignore_case limit"},
      {"GET", "workers", read, false, &NativeApi::list_workers},
      {"GET", "workers/*", read, false, &NativeApi::show_worker},
      {"POST", "workers/*/drain", administrate, false, &NativeApi::drain_worker},
      {"POST", "workers/*/fence", administrate, false, &NativeApi::fence_worker},
      {"POST", "workers/*/readmit", administrate, false, &NativeApi::readmit_worker},
      {"GET", "queues", read, false, &NativeApi::list_queues},
      {"GET", "queues/*", read, false, &NativeApi::show_queue},
      {"PUT", "queues/*", administrate, false, &NativeApi::set_queue},
      {"DELETE", "queues/*", administrate, false, &NativeApi::drop_queue},
      {"GET", "definitions", read, false, &NativeApi::list_definitions},
      {"POST", "definitions", submit, false, &NativeApi::add_definition},
      {"GET", "definitions/*", read, false, &NativeApi::show_definition},
      {"DELETE", "definitions/*", submit, false, &NativeApi::retire_definition},
      {"GET", "fleets", read, false, &NativeApi::list_fleets},
      {"GET", "fleets/*", read, false, &NativeApi::show_fleet},
      {"PUT", "fleets/*", administrate, false, &NativeApi::set_fleet},
      {"DELETE", "fleets/*", administrate, false, &NativeApi::drop_fleet},
      {"GET", "fleets/*/explain", read, false, &NativeApi::explain_fleet},
      {"POST", "fleets/*/pause", administrate, false, &NativeApi::pause_fleet},
      {"POST", "fleets/*/resume", administrate, false, &NativeApi::resume_fleet},
      {"GET", "streams", read, false, &NativeApi::list_streams, "after limit"},
      {"GET", "streams/*", read, false, &NativeApi::show_stream},
      {"PUT", "streams/*", submit, false, &NativeApi::set_stream},
      {"DELETE", "streams/*", submit, false, &NativeApi::drop_stream},
      {"POST", "streams/*/purge", submit, false, &NativeApi::purge_stream},
      {"POST", "streams/*/messages", submit, false, &NativeApi::send_messages},
      {"POST", "streams/*/receive", submit, false, &NativeApi::receive_messages},
      {"POST", "streams/*/delete", submit, false, &NativeApi::delete_messages},
      {"POST", "streams/*/visibility", submit, false, &NativeApi::set_visibility},
      {"GET", "events", read, false, &NativeApi::list_events, "job after limit"},
      {"GET", "usage", read, false, &NativeApi::show_usage, "by"},
      {"POST", "sql", read, false, &NativeApi::ask_sql},
  };
  return table;
}

std::expected<NativeApi::Found, HttpResponse> NativeApi::find(const HttpHead& head) {
  constexpr const char* kNext = "GET /api/v1/ lists the endpoints; docs/openapi.yaml describes them";
  const auto segments = path_segments(head.path);
  if (!segments) {
    return std::unexpected(problem({ErrorCode::bad_input, concat("invalid path ", utf8(head.path)), kNext}));
  }
  const std::string_view method = head.method == "HEAD" ? "GET" : std::string_view(head.method);  // but for the body
  std::string allowed;
  for (const Route& route : routes()) {
    Found found{&route, {}};
    if (!fits(*segments, concat(kRoot, route.path), found.parts)) continue;
    if (route.method == method) return found;
    allowed += concat(allowed.empty() ? "" : ", ", route.method);
  }
  if (!allowed.empty()) return std::unexpected(bad_method(head, allowed));
  return std::unexpected(problem({ErrorCode::not_found, concat("path ", utf8(head.path), " not found"), kNext}));
}

// Parameters of a call with a body are looked at before it is read, those of other calls once the caller is known.
std::expected<ServiceCall, HttpResponse> NativeApi::resolve(const HttpHead& head) {
  auto found = find(head);
  if (!found) return std::unexpected(std::move(found.error()));
  const Route& route = *found->route;
  ServiceCall call{.needs = Permission{route.action, concat("call ", head.method, " ", utf8(head.path)),
                                       route.about_a_job ? found->parts.front() : ""},
                   .log = log_by_method(head),
                   .handle = {}};
  auto pairs = query_pairs(head.query);
  if (route.method != "GET") {
    const QueryPairs known = pairs.value_or(QueryPairs{});
    if (auto checked = check_parameters(route, known); !checked) {
      call.refusal = problem(checked.error());
      return call;
    }
    call.most_bytes = route.handler == &NativeApi::send_messages ? kLargestSend : kLargestJob;
    if (route.handler == &NativeApi::upload_manifest) {
      const bool by_nul = !known.empty();  // the only parameter it has
      if (by_nul && known.front().second != "nul") {
        call.refusal =
            problem({ErrorCode::bad_input, "invalid value for parameter 'separator'", "use nul, or omit it for lines"});
        return call;
      }
      call.most_bytes = std::numeric_limits<std::uint64_t>::max();
      call.sink = std::make_unique<ItemLines>(backend_, by_nul ? '\0' : '\n');
    }
  }
  call.handle = [this, &route, parts = std::move(found->parts), pairs = std::move(pairs)](
                    HttpRequest request, HttpReply reply, Asker asker) mutable {
    if (!pairs) return reply.send(problem({ErrorCode::bad_input, "malformed query string", {}}));
    handle(route, {std::move(request), std::move(parts), std::move(*pairs), std::move(asker)}, std::move(reply));
  };
  return call;
}

// A misspelt one would change nothing, and nobody would know.
Result<void> NativeApi::check_parameters(const Route& route, const QueryPairs& query) {
  std::set<std::string_view> seen;
  for (const auto& [name, value] : query) {
    bool known = false;
    for (std::string_view rest = route.parameters; !rest.empty() && !known;) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      known = rest.substr(0, end) == name;
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (!known) {
      return fail(ErrorCode::bad_input, concat("unknown parameter '", utf8(name), "'"),
                  route.parameters.empty() ? "this call has no parameters"
                                           : concat("parameters of this call: ", route.parameters));
    }
    if (!seen.insert(name).second) return fail(ErrorCode::bad_input, concat("duplicate parameter '", name, "'"));
  }
  return {};
}

void NativeApi::handle(const Route& route, Asked asked, HttpReply reply) {
  if (auto known = check_parameters(route, asked.query); !known) return reply.send(problem(known.error()));
  // It asks nobody, so that it is answered however much there is to do.
  if (route.handler == &NativeApi::show_self) return show_self(std::move(asked), std::move(reply));
  const Holder holder = asked.asker.holder;
  // Every call looks something up or writes something down.
  backend_.later(holder, [this, handler = route.handler, asked = std::make_shared<Asked>(std::move(asked)),
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

Result<std::uint64_t> NativeApi::Asked::number(std::string_view name, std::uint64_t usual, std::uint64_t least,
                                               std::uint64_t most) const {
  const std::string* text = parameter(name);
  if (text == nullptr) return usual;
  auto number = parse_number(*text);
  if (number && *number >= least && *number <= most) return *number;
  return fail(ErrorCode::bad_input, concat("parameter '", name, "' must be a whole number from ", least, " to ", most));
}

Result<bool> NativeApi::Asked::flag(std::string_view name) const {
  const std::string* text = parameter(name);
  if (text == nullptr || *text == "false" || *text == "0") return false;
  if (*text == "true" || *text == "1") return true;
  return fail(ErrorCode::bad_input, concat("parameter '", name, "' must be true or false"));
}

Result<std::string> NativeApi::Asked::choice(std::string_view name,
                                             std::initializer_list<std::string_view> words) const {
  const std::string* text = parameter(name);
  if (text == nullptr) return std::string(*words.begin());
  std::string all;
  for (const std::string_view word : words) {
    if (word.empty()) continue;
    if (*text == word) return *text;
    all += concat(all.empty() ? "" : ", ", word);
  }
  return fail(ErrorCode::bad_input, concat("invalid value '", utf8(*text), "' for parameter '", name, "'"),
              concat("use one of ", all));
}

Result<Job> NativeApi::job_of(const std::string& reference) {
  auto found = backend_.find_job(reference);
  if (!found) return pass(found);
  return std::move(found->job);
}

}  // namespace drover
