#include <boost/json/array.hpp>
#include <limits>

#include "api/batch/batch.h"
#include "base/units.h"
#include "base/utf8.h"

namespace drover::aws {

namespace json = boost::json;

namespace {

constexpr std::uint64_t kPage = 1000;
constexpr std::uint64_t kFilteredPage = 100;
constexpr std::uint64_t kMostPages = 100;  // that are looked through for one answer

/// What a list is asked for: jobs of a status, or those that a filter chooses.
struct ListChoice {
  std::string status = "RUNNING";  // empty: any
  std::string name;                // a beginning, if it ends in '*'; in any case of letters
  std::string definition;
  std::int64_t after_ms = std::numeric_limits<std::int64_t>::min();
  std::int64_t before_ms = std::numeric_limits<std::int64_t>::max();
  std::string share;
};

bool fits_pattern(std::string_view pattern, std::string_view text) {
  if (pattern.ends_with('*')) return text.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == text;
}

std::expected<ListChoice, Fault> list_choice(const json::object& input) {
  ListChoice out;
  const json::value* status = input.if_contains("jobStatus");
  if (status != nullptr) out.status = status->get_string();
  const json::value* filters = input.if_contains("filters");
  if (filters == nullptr || filters->get_array().empty()) return out;
  const json::object& filter = filters->get_array().front().get_object();
  const json::value* named = filter.if_contains("name");
  const json::value* values = filter.if_contains("values");
  if (named == nullptr || values == nullptr || values->get_array().size() != 1) {
    return client_error("a filter must have a name and one value");
  }
  const std::string name(named->get_string());
  const std::string value(values->get_array().front().get_string());
  // A filter replaces the status, but for one by share.
  if (name != "SHARE_IDENTIFIER") out.status.clear();
  if (name == "JOB_NAME") {
    out.name = in_small_letters(value);
  } else if (name == "JOB_DEFINITION") {
    out.definition = name_in(value);
  } else if (name == "SHARE_IDENTIFIER") {
    out.share = value;
  } else if (name == "BEFORE_CREATED_AT" || name == "AFTER_CREATED_AT") {
    const auto ms = parse_number(value);
    if (!ms) return client_error(concat("the value of the filter ", name, " must be a time in milliseconds"));
    (name == "BEFORE_CREATED_AT" ? out.before_ms : out.after_ms) = static_cast<std::int64_t>(*ms);
  } else {
    return client_error(concat("there is no filter ", name));
  }
  return out;
}

bool is_chosen(const ListChoice& wanted, const JobView& view) {
  const Job& job = view.job;
  if (!wanted.status.empty() && status_of(view) != wanted.status) return false;
  if (!wanted.name.empty() && !fits_pattern(wanted.name, in_small_letters(job.name))) return false;
  if (!wanted.share.empty() && job.place.share != wanted.share) return false;
  if (job.created_ms <= wanted.after_ms || job.created_ms >= wanted.before_ms) return false;
  if (wanted.definition.empty()) return true;
  return fits_pattern(wanted.definition, job.named_definition) ||
         wanted.definition == job.named_definition.substr(0, job.named_definition.rfind(':'));
}

}  // namespace

void BatchApi::serve_lists() {
  on_read("ListJobs", Action::read, [this](const Call& call) -> Outcome {
    const bool of_array = call.input.contains("arrayJobId");
    if (call.input.contains("multiNodeJobId")) return client_error("multiNodeJobId is not supported");
    if (of_array == call.input.contains("jobQueue")) return client_error("one of jobQueue and arrayJobId is required");
    return of_array ? list_children(call) : list_jobs(call);
  });
}

// The newest first. The token is the job after which the next page begins.
Outcome BatchApi::list_jobs(const Call& call) {
  const std::string queue = name_in(call.input.at("jobQueue").get_string());
  auto known = find_queue(queue);
  if (!known) return std::unexpected(std::move(known.error()));
  if (!*known) return client_error(concat("JobQueue ", queue, " does not exist"));
  auto wanted = list_choice(call.input);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  JobFilter filter{.queue = queue, .suits = [&](const JobView& view) { return is_chosen(*wanted, view); }};
  if (const json::value* token = call.input.if_contains("nextToken")) {
    const auto id = parse_job_id(token->get_string());
    const auto before = id ? find_job(*id) : std::nullopt;
    if (!before) return client_error("nextToken is not one that was returned");
    filter.before = before->job.id;
  }
  const json::value* most = call.input.if_contains("maxResults");
  const std::uint64_t usual = call.input.contains("filters") ? kFilteredPage : kPage;
  const std::uint64_t limit = most == nullptr ? usual : std::min(usual, static_cast<std::uint64_t>(most->get_int64()));
  filter.limit = limit + 1;
  const std::vector<JobView> found = backend().list_jobs(filter);
  json::array out;
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), limit); ++i) {
    out.push_back(summary_json(call, found[i]));
  }
  json::object answer;
  if (found.size() > limit) answer["nextToken"] = out.back().at("jobId");
  answer["jobSummaryList"] = std::move(out);
  return answer;
}

json::object BatchApi::summary_json(const Call& call, const JobView& view) const {
  const Job& job = view.job;
  const std::string id = job.uuid.text();
  json::object out{{"jobArn", account().arn("batch", call.region, concat("job/", id))},
                   {"jobId", id},
                   {"jobName", utf8(job.name)},
                   {"createdAt", job.created_ms},
                   {"status", status_of(view)}};
  if (!job.reason.empty()) out["statusReason"] = utf8(job.reason);
  if (job.started_ms > 0) out["startedAt"] = job.started_ms;
  if (job.ended()) out["stoppedAt"] = job.ended_ms;
  if (is_array(job)) out["arrayProperties"] = json::object{{"size", job.total}};
  const std::string named = job.named_definition.empty() ? concat(kNativeDefinition, ":1") : job.named_definition;
  out["jobDefinition"] = account().arn("batch", call.region, concat("job-definition/", named));
  return out;
}

// In the order of their indexes. The token is the index at which the next page begins.
Outcome BatchApi::list_children(const Call& call) {
  const auto id = parse_job_id(call.input.at("arrayJobId").get_string());
  const auto view = id && !id->child ? find_job(*id) : std::nullopt;
  if (!view || !is_array(view->job)) return client_error("arrayJobId is not the id of an array job");
  auto wanted = list_choice(call.input);
  if (!wanted) return std::unexpected(std::move(wanted.error()));
  ItemQuestion question{.from = ItemIndex{0}, .limit = kPage, .state = {}};
  if (const json::value* token = call.input.if_contains("nextToken")) {
    const auto number = parse_number(token->get_string());
    if (!number) return client_error("nextToken is not one that was returned");
    question.from = ItemIndex{*number};
  }
  if (wanted->status == "SUCCEEDED") question.state = "succeeded";
  if (wanted->status == "RUNNING") question.state = "running";
  const json::value* most = call.input.if_contains("maxResults");
  const std::uint64_t limit = most == nullptr ? kPage : std::min(kPage, static_cast<std::uint64_t>(most->get_int64()));
  const Job& job = view->job;
  json::array out;
  json::object answer;
  for (std::uint64_t looked = 0; question.from.value < job.total && looked < kMostPages; ++looked) {
    auto items = backend().items(job, question);
    if (!items) return std::unexpected(fault(items.error()));
    if (items->empty()) break;
    for (const ItemView& item : *items) {
      const std::string_view status = status_of(job, item.state);
      question.from = ItemIndex{item.item.value + 1};
      if (!wanted->status.empty() && status != wanted->status) continue;
      out.push_back(child_json(call, job, item, status));
      if (out.size() == limit) break;
    }
    if (out.size() == limit) break;
  }
  if (question.from.value < job.total && (out.size() == limit || question.state.empty())) {
    answer["nextToken"] = concat(question.from.value);
  }
  answer["jobSummaryList"] = std::move(out);
  return answer;
}

json::object BatchApi::child_json(const Call& call, const Job& job, const ItemView& item,
                                  std::string_view status) const {
  const std::string id = concat(job.uuid.text(), ":", item.item.value);
  json::object out{{"jobArn", account().arn("batch", call.region, concat("job/", id))},
                   {"jobId", id},
                   {"jobName", utf8(job.name)},
                   {"createdAt", job.created_ms},
                   {"status", status},
                   {"arrayProperties", json::object{{"index", item.item.value}}}};
  if (item.since_ms > 0) out["startedAt"] = item.since_ms;
  if (item.last && (status == "SUCCEEDED" || status == "FAILED")) {
    out["startedAt"] = item.last->started_ms;
    out["stoppedAt"] = item.last->ended_ms;
    out["statusReason"] = status_reason(*item.last);
    json::object container = attempt_json(job, *item.last).at("container").get_object();
    container.erase("logStreamName");
    out["container"] = std::move(container);
  }
  return out;
}

}  // namespace drover::aws
