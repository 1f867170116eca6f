#include "wire/submission.h"

#include <algorithm>

#include "base/text.h"

namespace drover {
namespace {

void read_sources(JobReader& reader, Submission& out) {
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
                 reader.face() == Face::file ? "set one of items, items_file, range, dir, jsonl and stream"
                                             : "set one of items, range, manifest and stream");
}

}  // namespace

void read_fields(JobReader& reader, Submission& out) {
  std::optional<ContainerOptions>& container = out.definition.container;
  const auto is_said = [&](const JobField& field) {
    return field.section == Section::container && reader.has(field.name);
  };
  const bool is_without = !container && std::ranges::none_of(job_fields(), is_said);
  if (!container) container.emplace();
  for (const JobField& field : job_fields()) {
    if (field.stored.read != nullptr) field.stored.read(reader, field, out);
  }
  if (is_without) container.reset();
}

void check_container(JobReader& reader, const Submission& job) {
  const std::optional<ContainerOptions>& container = job.definition.container;
  if (!container || !job.named_definition.empty() || reader.has("definition")) return;
  for (const std::string_view name : {"reset", "reuse_limit"}) {
    if (!reader.has(name) || container->reuse) continue;
    reader.complain(*reader.find(name), name, "requires container reuse, which is off",
                    "add reuse: true, or remove the field");
  }
  const auto fields = job_fields();
  const auto first = std::ranges::find_if(fields, [&](const JobField& field) {
    return field.section == Section::container && field.name != "image" && reader.has(field.name);
  });
  if (first == fields.end() || !container->image.empty() || reader.has("image")) return;
  reader.complain(*reader.find(first->name), first->name, "requires a container, but 'image' is missing",
                  "add image: NAME, or remove the field");
}

void read_job(JobReader& reader, JobNeeds needed, Submission& out) {
  read_fields(reader, out);
  read_sources(reader, out);
  check_container(reader, out);
  if (needed.command && !reader.has("command") && !reader.has("definition") && !reader.has("image")) {
    reader.missing("command", "is missing",
                   concat("write the command as a list of words: command: ", find_job_field("command")->example));
  }
  check_sources(reader, needed.items);
  out.said = reader.said();
  if (out.said.contains("gpus")) out.said.insert("accelerators");  // as which they are written
}

Result<Node> job_document(std::string_view text) {
  auto node = node_from_json(text);
  if (node && node->kind == Node::Kind::object) return node;
  return fail(ErrorCode::bad_input,
              concat("the job is not a JSON object", node ? "" : concat(": ", node.error().message)),
              "docs/api.md has an example");
}

Result<Submission> submission_from(const Node& document, JobNeeds needs) {
  JobReader reader(document, Face::api);
  Submission out;
  for (const JobField& field : job_fields()) {
    if (field.face == Face::file) reader.find(field.name);  // a server reads no files
  }
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

Result<Submission> submission_from_json(std::string_view text) {
  auto document = job_document(text);
  if (!document) return pass(document);
  return submission_from(*document);
}

std::vector<std::pair<std::string_view, std::string>> written_fields(const Submission& job, Section section) {
  static const Submission usual = [] {
    Submission made;
    made.definition.container.emplace();
    return made;
  }();
  std::vector<std::pair<std::string_view, std::string>> out;
  if (section == Section::container && !job.definition.container) return out;
  for (const JobField& field : job_fields()) {
    if (field.section != section || field.stored.write == nullptr) continue;
    std::string value = field.stored.write(field, job);
    const bool is_worth_it = job.said.contains(field.name) || value != field.stored.write(field, usual);
    if (!value.empty() && is_worth_it) out.emplace_back(field.name, std::move(value));
  }
  return out;
}

std::string submission_to_json(const Submission& submission) {
  std::string out;
  for (const Section section : {Section::command, Section::items, Section::container, Section::resources,
                                Section::queueing, Section::failures}) {
    for (const auto& [name, value] : written_fields(submission, section)) {
      out += concat(out.empty() ? "{" : ",", "\"", name, "\":", value);
    }
  }
  return out.empty() ? "{}" : out + "}";
}

Node job_over_definition(Node definition, Node job) {
  const auto says = [&](std::string_view name) {
    const Node* node = job.find(name);
    return node != nullptr && node->kind != Node::Kind::null;
  };
  const bool own_items = std::ranges::any_of(
      job.fields, [&](const Node::Field& field) { return is_source(field.name) && says(field.name); });
  Node merged{.kind = Node::Kind::object};
  for (Node::Field& field : definition.fields) {
    if (is_source(field.name) && own_items) continue;
    if ((field.name == "gpus" || field.name == "accelerators") && (says("gpus") || says("accelerators"))) continue;
    if (!says(field.name)) {
      merged.fields.push_back(std::move(field));
      continue;
    }
    const Node& given = *job.find(field.name);
    if (field.name != "environment" || given.kind != Node::Kind::object || field.value.kind != Node::Kind::object)
      continue;
    Node both{.kind = Node::Kind::object};
    for (Node::Field& variable : field.value.fields) {
      if (given.find(variable.name) == nullptr) both.fields.push_back(std::move(variable));
    }
    both.fields.insert(both.fields.end(), given.fields.begin(), given.fields.end());
    merged.fields.push_back({field.name, {}, std::move(both)});
  }
  for (Node::Field& field : job.fields) {
    if (field.value.kind != Node::Kind::null && merged.find(field.name) == nullptr)
      merged.fields.push_back(std::move(field));
  }
  return merged;
}

}  // namespace drover
