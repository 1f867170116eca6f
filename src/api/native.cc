#include "api/native.h"

#include "api/item_lines.h"
#include "api/json_reply.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"

namespace drover {
namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::uint64_t kLargestJob = std::uint64_t{64} << 20;  // with its items in it

}  // namespace

NativeApi::NativeApi(Backend& backend) : backend_(backend) {}

const std::vector<NativeApi::Route>& NativeApi::routes() {
  using enum ApiNeed;
  static const std::vector<Route> table = {
      {"GET", "me", read, false, &NativeApi::show_caller},
      {"POST", "manifests", submit, false, &NativeApi::upload_manifest},
      {"POST", "jobs", submit, false, &NativeApi::submit},
      {"GET", "jobs", read, false, &NativeApi::list_jobs},
      {"GET", "jobs/*", read, true, &NativeApi::show_job},
      {"POST", "jobs/*/cancel", change_job, true, &NativeApi::cancel},
      {"POST", "jobs/*/retry", change_job, true, &NativeApi::retry},
      {"GET", "jobs/*/why", read, true, &NativeApi::say_why},
      {"GET", "jobs/*/failures", read, true, &NativeApi::list_failures},
      {"GET", "jobs/*/items", read, true, &NativeApi::list_items},
      {"GET", "jobs/*/items/*", read, true, &NativeApi::show_item},
      {"GET", "jobs/*/items/*/log", read, true, &NativeApi::show_log},
      {"GET", "jobs/*/search", read, true, &NativeApi::search_logs},
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
      {"GET", "events", read, false, &NativeApi::list_events},
      {"GET", "usage", read, false, &NativeApi::show_usage},
      {"POST", "sql", read, false, &NativeApi::ask_sql},
  };
  return table;
}

Result<NativeApi::Found> NativeApi::find(const HttpHead& head) {
  const auto segments = path_segments(head.path);
  if (!segments) return fail(ErrorCode::bad_input, concat("the path ", utf8(head.path), " is not a path"));
  bool other_method = false;
  for (const Route& route : routes()) {
    const auto wanted = path_segments(concat(kRoot, route.path));
    if (wanted->size() != segments->size()) continue;
    Found found{&route, {}};
    bool same = true;
    for (std::size_t i = 0; i < segments->size() && same; ++i) {
      if ((*wanted)[i] == "*") {
        found.parts.push_back((*segments)[i]);
      } else {
        same = (*wanted)[i] == (*segments)[i];
      }
    }
    if (!same) continue;
    if (route.method == head.method) return found;
    other_method = true;
  }
  if (other_method) {
    return fail(ErrorCode::bad_method, concat(head.method, " is not for ", utf8(head.path)),
                "docs/openapi.yaml lists the calls");
  }
  return fail(ErrorCode::not_found, concat("there is no ", utf8(head.path)), "docs/openapi.yaml lists the calls");
}

Result<ApiCall> NativeApi::recognise(const HttpHead& head) const {
  auto found = find(head);
  if (!found) return pass(found);
  return ApiCall{found->route->need, found->route->about_a_job ? found->parts.front() : ""};
}

HttpBodyPlan NativeApi::plan(const HttpHead& head) {
  auto found = find(head);
  if (!found) return {.most_bytes = 0, .sink = nullptr, .refusal = problem(found.error())};
  if (found->route->method == "GET") return {};
  if (found->route->handler != &NativeApi::upload_manifest) return {.most_bytes = kLargestJob, .sink = nullptr};
  const auto pairs = query_pairs(head.query).value_or(QueryPairs{});
  const bool by_nul =
      std::ranges::any_of(pairs, [](const auto& it) { return it.first == "separator" && it.second == "nul"; });
  return {.most_bytes = std::numeric_limits<std::uint64_t>::max(),
          .sink = std::make_unique<ItemLines>(backend_, by_nul ? '\0' : '\n')};
}

void NativeApi::handle(HttpRequest request, HttpReply reply, ApiCaller caller) {
  auto found = find(request.head);
  if (!found) return reply.send(problem(found.error()));
  auto pairs = query_pairs(request.head.query);
  if (!pairs) return reply.send(problem({ErrorCode::bad_input, "the query of the address cannot be read", {}}));
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

Result<std::uint64_t> NativeApi::Asked::number(std::string_view name, std::uint64_t usual, std::uint64_t most) const {
  const std::string* text = parameter(name);
  if (text == nullptr) return usual;
  auto number = parse_number(*text);
  if (number && *number <= most) return *number;
  return fail(ErrorCode::bad_input, concat("parameter '", name, "' is not a whole number up to ", most));
}

bool NativeApi::Asked::flag(std::string_view name) const {
  const std::string* text = parameter(name);
  return text != nullptr && *text != "false" && *text != "0";
}

Result<Job> NativeApi::job_of(const std::string& reference) {
  auto found = backend_.find_job(reference);
  if (!found) return pass(found);
  return std::move(found->job);
}

void NativeApi::show_caller(Asked asked, HttpReply reply) {
  reply.send(json_response(
      200, boost::json::object{
               {"key_id", asked.caller.key_id}, {"label", utf8(asked.caller.label)}, {"scope", asked.caller.scope}}));
}

}  // namespace drover
