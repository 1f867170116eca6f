#include "wire/submission.h"

#include <boost/json.hpp>
#include <span>

#include "base/text.h"
#include "wire/container_fields.h"
#include "wire/document.h"
#include "wire/labels.h"
#include "wire/rules.h"

namespace drover {
namespace json = boost::json;
namespace {

struct Unit {
  std::uint64_t size;
  std::string_view name;
};
constexpr Unit kSizeUnits[] = {{std::uint64_t{1} << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};
constexpr Unit kTimeUnits[] = {{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1000, "s"}, {1, "ms"}};

// In the largest unit that leaves nothing over: 90000 ms is "90s".
std::string in_unit(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value > 0 && value % unit.size == 0) return concat(value / unit.size, unit.name);
  }
  return concat(value, units.back().name);
}

// 1500 is 1.5.
std::string thousandths(std::uint32_t value) {
  std::string fraction = std::to_string(1000 + value % 1000).substr(1);
  while (fraction.ends_with('0')) fraction.pop_back();
  return concat(value / 1000, fraction.empty() ? "" : ".", fraction);
}

void read_items(JobReader& reader, Submission& out) {
  std::string kind;
  reader.text("item_kind", kind);
  if (kind == "json") out.definition.items = ItemKind::json;
  if (reader.has("jsonl")) out.definition.items = ItemKind::json;
  std::vector<std::string> texts;
  if (reader.items("items", texts)) out.definition.items = ItemKind::json;
  out.items = std::move(texts);
  NumberItems numbers;
  reader.range("range", numbers.first, numbers.last);
  if (reader.has("range")) out.items = numbers;
  ManifestId manifest{};
  reader.whole("manifest", manifest.value);
  if (reader.has("manifest")) out.items = manifest;
}

void check_sources(JobReader& reader, bool needed) {
  std::string_view first;
  for (const JobField& field : job_fields()) {
    const std::string_view name = field.name;
    if (!is_source(name) || !reader.has(name)) continue;
    if (first.empty()) {
      first = name;
    } else {
      reader.complain(*reader.find(name), name, concat("cannot be combined with '", first, "': both define the items"),
                      "keep one of them");
    }
  }
  if (!first.empty() || !needed) return;
  reader.missing("items", "is missing, and no other field defines the items",
                 reader.face() == Face::file ? "set one of items, items_file, range, dir and jsonl"
                                             : "set one of items, range and manifest");
}

void read_limits(JobReader& reader, Submission& out) {
  ItemLimits& limits = out.definition.limits;
  limits.log_bytes = kUsualLogBytes;
  reader.size("memory", limits.memory_bytes);
  reader.size("log_limit", limits.log_bytes);
  reader.real("cpus", limits.milli_cpus);
  reader.whole("pids", limits.processes);
  reader.whole("nice", limits.nice);
  reader.accelerators("accelerators", "gpus", out.accelerators);
  reader.labels("require", out.require);
}

void read_policy(JobReader& reader, Policy& policy) {
  std::uint32_t retries = 0;
  reader.whole("retries", retries);
  policy.max_tries = retries + 1;
  reader.time("timeout", policy.timeout_ms);
  reader.time("grace", policy.grace_ms);
  reader.time("retry_delay", policy.retry_delay_ms);
  reader.whole("max_failures", policy.max_failures);
  reader.whole("lost_limit", policy.lost_limit);
  reader.rules("rules", policy.rules);
}

void read_place_in_line(JobReader& reader, Submission& out) {
  reader.text("queue", out.queue);
  reader.whole("priority", out.priority);
  reader.text("share", out.share);
  std::vector<std::pair<std::string, bool>> after;
  reader.after("after", after);
  for (auto& [job, each] : after) out.after.push_back({std::move(job), each});
  reader.flag("sequential", out.sequential);
  reader.whole("max_running", out.max_running);
  reader.time("job_timeout", out.job_timeout_ms);
}

}  // namespace

void read_job(JobReader& reader, JobNeeds needed, Submission& out) {
  reader.text("name", out.name);
  reader.text("client_token", out.client_token);
  reader.text("definition", out.base_definition);
  reader.flag("shell", out.definition.shell);
  reader.command("command", "shell", out.definition.command);
  reader.text("workdir", out.definition.workdir);
  reader.flag("strict_lease", out.definition.strict_lease);
  reader.settings("environment", out.definition.environment);
  read_container(reader, out.definition.container);
  read_items(reader, out);
  if (needed.command && !reader.has("command") && !reader.has("definition") && !reader.has("image")) {
    reader.missing("command", "is missing",
                   concat("write the command as a list of words: command: ", find_job_field("command")->example));
  }
  check_sources(reader, needed.items);
  read_limits(reader, out);
  read_policy(reader, out.policy);
  read_place_in_line(reader, out);
  out.said = reader.said();
}

namespace {

Result<Submission> read_submission(std::string_view text, JobNeeds needs) {
  const auto node = node_from_json(text);
  if (!node || node->kind != Node::Kind::object) {
    return fail(ErrorCode::bad_input,
                concat("the job is not a JSON object", node ? "" : concat(": ", node.error().message)),
                "docs/api.md has an example");
  }
  JobReader reader(*node, Face::api);
  Submission out;
  for (const char* name : {"items_file", "dir", "match", "jsonl", "map"}) reader.find(name);  // a server reads no files
  read_job(reader, needs, out);
  const std::vector<JobProblem> problems = reader.done();
  if (problems.empty()) return out;
  std::string all;
  std::string next;
  for (const JobProblem& problem : problems) {
    all += concat(all.empty() ? "" : "; ", problem.message());
    if (next.empty()) next = problem.next;
  }
  return fail(ErrorCode::bad_input, all, next.empty() ? "docs/api.md lists the fields of a job" : next);
}

}  // namespace

Result<Submission> submission_from_json(std::string_view text) {
  return read_submission(text, {});
}

Result<Submission> template_from_json(std::string_view text) {
  return read_submission(text, {.command = true, .items = false});
}

std::string submission_to_json(const Submission& submission) {
  std::string out;
  const auto add = [&](std::string_view name, std::string_view value) {
    out += concat(out.empty() ? "{" : ",", "\"", name, "\":", value);
  };
  // What is usual is left out, unless somebody said it.
  const auto put = [&](std::string_view name, bool unusual, const json::value& value) {
    if (unusual || submission.said.contains(name)) add(name, json::serialize(value));
  };
  const auto put_text = [&](std::string_view name, const std::string& text) {
    put(name, !text.empty(), json::string(text));
  };
  const Definition& definition = submission.definition;
  put_text("name", submission.name);
  put_text("client_token", submission.client_token);
  put_text("definition", submission.base_definition);
  put("command", !definition.command.empty(), json::array(definition.command.begin(), definition.command.end()));
  put("shell", definition.shell, definition.shell);
  put_text("workdir", definition.workdir);
  put("strict_lease", definition.strict_lease, definition.strict_lease);
  json::object environment;
  for (const auto& [name, value] : definition.environment) environment[name] = value;
  put("environment", !definition.environment.empty(), environment);
  if (definition.container) {
    for (const auto& [name, value] : container_to_json(*definition.container, submission.said)) {
      add(std::string_view(name), json::serialize(value));
    }
  }
  put("item_kind", definition.items == ItemKind::json, definition.items == ItemKind::json ? "json" : "text");
  if (const auto* numbers = std::get_if<NumberItems>(&submission.items)) {
    put("range", true, json::array{numbers->first, numbers->last});
  } else if (const auto* manifest = std::get_if<ManifestId>(&submission.items)) {
    put("manifest", true, manifest->value);
  } else {
    const auto& items = std::get<std::vector<std::string>>(submission.items);
    put("items", !items.empty(), json::array(items.begin(), items.end()));
  }

  const ItemLimits& limits = definition.limits;
  if (limits.milli_cpus > 0) add("cpus", thousandths(limits.milli_cpus));
  if (limits.memory_bytes > 0) put_text("memory", in_unit(limits.memory_bytes, kSizeUnits));
  json::object accelerators;
  for (std::size_t i = 0; i < submission.accelerators.size(); ++i) {
    if (submission.accelerators[i] > 0) accelerators[kAcceleratorKinds[i]] = submission.accelerators[i];
  }
  put("accelerators", !accelerators.empty() || submission.said.contains("gpus"), accelerators);
  if (limits.processes > 0) put("pids", true, limits.processes);
  put("nice", limits.nice != 0, limits.nice);
  put("log_limit", limits.log_bytes != kUsualLogBytes, json::string(in_unit(limits.log_bytes, kSizeUnits)));
  put("require", !submission.require.empty(), json::parse(labels_to_json(submission.require)));

  put("queue", submission.queue != "default", json::string(submission.queue));
  put("priority", submission.priority > 0, submission.priority);
  put_text("share", submission.share);
  json::array after;
  for (const After& one : submission.after) {
    after.push_back(one.each ? json::value(json::object{{"job", one.job}, {"each", true}})
                             : json::value(json::string(one.job)));
  }
  put("after", !submission.after.empty(), after);
  put("sequential", submission.sequential, submission.sequential);
  if (submission.max_running > 0) put("max_running", true, submission.max_running);

  const Policy& policy = submission.policy;
  const auto put_time = [&](std::string_view name, std::int64_t ms, std::int64_t usual) {
    put(name, ms != usual, json::string(in_unit(static_cast<std::uint64_t>(ms), kTimeUnits)));
  };
  if (policy.timeout_ms > 0) put_time("timeout", policy.timeout_ms, 0);
  put_time("grace", policy.grace_ms, Policy{}.grace_ms);
  if (submission.job_timeout_ms > 0) put_time("job_timeout", submission.job_timeout_ms, 0);
  put("retries", policy.max_tries > 1, policy.max_tries - 1);
  put_time("retry_delay", policy.retry_delay_ms, 0);
  put("rules", !policy.rules.empty(), json::parse(rules_to_json(policy.rules)));
  put("max_failures", policy.max_failures != Policy::kNoLimit, policy.max_failures);
  put("lost_limit", policy.lost_limit != Policy{}.lost_limit, policy.lost_limit);
  return out + "}";
}

Result<std::string> job_over_definition(std::string_view definition, std::string_view job) {
  auto under = node_from_json(definition);
  if (!under || under->kind != Node::Kind::object) return fail(ErrorCode::damaged, "a stored definition is invalid");
  auto over = node_from_json(job);
  if (!over || over->kind != Node::Kind::object) return fail(ErrorCode::bad_input, "the job is not a JSON object");
  const auto says = [&](std::string_view name) {
    const Node* node = over->find(name);
    return node != nullptr && node->kind != Node::Kind::null;
  };
  const bool own_items = std::ranges::any_of(
      over->fields, [&](const Node::Field& field) { return is_source(field.name) && says(field.name); });
  Node merged{.kind = Node::Kind::object};
  for (Node::Field& field : under->fields) {
    if (is_source(field.name) && own_items) continue;
    if ((field.name == "gpus" || field.name == "accelerators") && (says("gpus") || says("accelerators"))) continue;
    if (!says(field.name)) {
      merged.fields.push_back(std::move(field));
      continue;
    }
    const Node& given = *over->find(field.name);
    if (field.name != "environment" || given.kind != Node::Kind::object || field.value.kind != Node::Kind::object)
      continue;
    Node both{.kind = Node::Kind::object};
    for (Node::Field& variable : field.value.fields) {
      if (given.find(variable.name) == nullptr) both.fields.push_back(std::move(variable));
    }
    both.fields.insert(both.fields.end(), given.fields.begin(), given.fields.end());
    merged.fields.push_back({field.name, {}, std::move(both)});
  }
  for (Node::Field& field : over->fields) {
    if (field.value.kind != Node::Kind::null && merged.find(field.name) == nullptr)
      merged.fields.push_back(std::move(field));
  }
  return node_to_json(merged);
}

}  // namespace drover
