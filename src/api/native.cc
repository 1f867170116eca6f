#include "api/native.h"

#include <set>

#include "api/item_lines.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

namespace drover {
namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::uint64_t kLargestJob = std::uint64_t{64} << 20;  // with its items in it

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

NativeApi::NativeApi(Backend& backend, std::vector<ApiLine> others) : backend_(backend), others_(std::move(others)) {}

const std::vector<NativeApi::Route>& NativeApi::routes() {
  using enum ApiNeed;
  static const std::vector<Route> table = {
      {"GET", "", read, false, &NativeApi::list_calls},
      {"GET", "errors", read, false, &NativeApi::list_errors},
      {"GET", "openapi.yaml", read, false, &NativeApi::show_description},
      {"POST", "manifests", submit, false, &NativeApi::upload_manifest, "separator"},
      {"POST", "jobs", submit, false, &NativeApi::submit},
      {"GET", "jobs", read, false, &NativeApi::list_jobs, "state name queue owner share before limit"},
      {"GET", "jobs/*", read, true, &NativeApi::show_job},
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
      {"GET", "events", read, false, &NativeApi::list_events, "job after limit"},
      {"GET", "usage", read, false, &NativeApi::show_usage, "by"},
      {"POST", "sql", read, false, &NativeApi::ask_sql},
  };
  return table;
}

std::expected<NativeApi::Found, HttpResponse> NativeApi::find(const HttpHead& head) const {
  constexpr const char* kNext = "GET /api/v1/ lists the calls, and docs/openapi.yaml describes them";
  const auto segments = path_segments(head.path);
  if (!segments) {
    return std::unexpected(
        problem({ErrorCode::bad_input, concat("the path ", utf8(head.path), " is not a path"), kNext}));
  }
  const std::string_view method = head.method == "HEAD" ? "GET" : std::string_view(head.method);  // but for the body
  std::string allowed;
  const auto also_for = [&](std::string_view other) { allowed += concat(allowed.empty() ? "" : ", ", other); };
  for (const Route& route : routes()) {
    Found found{&route, {}};
    if (!fits(*segments, concat(kRoot, route.path), found.parts)) continue;
    if (route.method == method) return found;
    also_for(route.method);
  }
  for (const ApiLine& other : others_) {
    std::vector<std::string> parts;
    if (fits(*segments, other.path, parts)) also_for(other.method);
  }
  if (!allowed.empty()) return std::unexpected(bad_method(head, allowed));
  return std::unexpected(problem({ErrorCode::not_found, concat("there is no ", utf8(head.path)), kNext}));
}

std::optional<ApiCall> NativeApi::recognise(const HttpHead& head) const {
  auto found = find(head);
  if (!found) return std::nullopt;
  return ApiCall{found->route->need, found->route->about_a_job ? found->parts.front() : ""};
}

HttpBodyPlan NativeApi::plan(const HttpHead& head) {
  auto found = find(head);
  if (!found) return {.most_bytes = 0, .sink = nullptr, .refusal = std::move(found.error())};
  if (found->route->method == "GET") return {};
  const auto pairs = query_pairs(head.query).value_or(QueryPairs{});
  if (auto known = check_parameters(*found->route, pairs); !known) {
    return {.most_bytes = 0, .sink = nullptr, .refusal = problem(known.error())};
  }
  if (found->route->handler != &NativeApi::upload_manifest) return {.most_bytes = kLargestJob, .sink = nullptr};
  const bool by_nul = !pairs.empty();  // the only parameter it has
  if (by_nul && pairs.front().second != "nul") {
    return {.most_bytes = 0,
            .sink = nullptr,
            .refusal = problem(
                {ErrorCode::bad_input, "parameter 'separator' cannot be that", "say nul, or leave it out for lines"})};
  }
  return {.most_bytes = std::numeric_limits<std::uint64_t>::max(),
          .sink = std::make_unique<ItemLines>(backend_, by_nul ? '\0' : '\n')};
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
      return fail(ErrorCode::bad_input, concat("parameter '", utf8(name), "' is not known"),
                  route.parameters.empty() ? "this call takes none" : concat("there are: ", route.parameters));
    }
    if (!seen.insert(name).second) return fail(ErrorCode::bad_input, concat("parameter '", name, "' is there twice"));
  }
  return {};
}

void NativeApi::handle(HttpRequest request, HttpReply reply, ApiCaller caller) {
  auto found = find(request.head);
  if (!found) return reply.send(std::move(found.error()));
  auto pairs = query_pairs(request.head.query);
  if (!pairs) return reply.send(problem({ErrorCode::bad_input, "the query of the address cannot be read", {}}));
  if (auto known = check_parameters(*found->route, *pairs); !known) return reply.send(problem(known.error()));
  Asked asked{std::move(request), std::move(found->parts), std::move(*pairs), std::move(caller)};
  // Every call looks something up or writes something down.
  backend_.later([this, handler = found->route->handler, asked = std::make_shared<Asked>(std::move(asked)),
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
  return fail(ErrorCode::bad_input, concat("parameter '", name, "' is not a whole number from ", least, " to ", most));
}

Result<bool> NativeApi::Asked::flag(std::string_view name) const {
  const std::string* text = parameter(name);
  if (text == nullptr || *text == "false" || *text == "0") return false;
  if (*text == "true" || *text == "1") return true;
  return fail(ErrorCode::bad_input, concat("parameter '", name, "' is neither true nor false"));
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
  return fail(ErrorCode::bad_input, concat("parameter '", name, "' cannot be '", utf8(*text), "'"),
              concat("say ", all));
}

Result<Job> NativeApi::job_of(const std::string& reference) {
  auto found = backend_.find_job(reference);
  if (!found) return pass(found);
  return std::move(found->job);
}

}  // namespace drover
