// What is kept by name: queues, definitions with revisions.
#include <cmath>
#include <set>

#include "api/json_reply.h"
#include "api/native/named.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "api/registry_lookup.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "wire/registry_json.h"
#include "wire/submission.h"

namespace drover {
namespace json = boost::json;
namespace {

json::object definition_json(const NamedDefinition& it) {
  return {{"name", it.name},
          {"revision", it.revision},
          {"active", it.active},
          {"created_ms", it.created_ms},
          {"owner", it.owner.empty() ? json::value(nullptr) : json::value(utf8(it.owner))}};
}

}  // namespace

void NativeApi::answer_done(Command command, json::object said, HttpReply reply) {
  backend_.post(std::move(command), [said = std::move(said), reply = std::make_shared<HttpReply>(std::move(reply))](
                                        const Result<Effect>& effect) {
    reply->send(effect ? json_response(200, said) : problem(effect.error()));
  });
}

Result<std::vector<Queue>> NativeApi::queues() {
  return all_queues(backend_.ledger());
}

void NativeApi::list_queues(Asked /*asked*/, HttpReply reply) {
  auto all = queues();
  if (!all) return reply.send(problem(all.error()));
  json::array out;
  for (const Queue& it : *all) out.push_back(queue_to_json(it));
  reply.send(json_response(200, json::object{{"queues", std::move(out)}}));
}

void NativeApi::show_queue(Asked asked, HttpReply reply) {
  auto all = queues();
  if (!all) return reply.send(problem(all.error()));
  for (const Queue& it : *all) {
    if (it.name == asked.parts[0]) return reply.send(json_response(200, queue_to_json(it)));
  }
  reply.send(problem(no_such("queue", asked.parts[0])));
}

// What is not said stays as it is, or is usual for a new one.
void NativeApi::set_queue(Asked asked, HttpReply reply) {
  if (auto valid = check_name("queue", asked.parts[0]); !valid) return reply.send(problem(valid.error()));
  auto all = queues();
  if (!all) return reply.send(problem(all.error()));
  Queue queue{.name = asked.parts[0]};
  for (const Queue& it : *all) {
    if (it.name == asked.parts[0]) queue = it;
  }
  auto read = queue_from_json(asked.request.body, queue);
  if (!read) return reply.send(problem(read.error()));
  answer_done(SetQueue{*read}, queue_to_json(*read), std::move(reply));
}

void NativeApi::drop_queue(Asked asked, HttpReply reply) {
  answer_done(DropQueue{asked.parts[0]}, {{"name", utf8(asked.parts[0])}}, std::move(reply));
}

Result<NamedDefinition> NativeApi::find_definition(const std::string& reference) {
  return find_named_definition(backend_.ledger(), reference);
}

void NativeApi::list_definitions(Asked /*asked*/, HttpReply reply) {
  auto all = backend_.ledger().named_definitions();
  if (!all) return reply.send(problem(all.error()));
  json::array out;
  for (const NamedDefinition& it : *all) out.push_back(definition_json(it));
  reply.send(json_response(200, json::object{{"definitions", std::move(out)}}));
}

void NativeApi::show_definition(Asked asked, HttpReply reply) {
  auto found = find_definition(asked.parts[0]);
  if (!found) return reply.send(problem(found.error()));
  auto text = backend_.definition(found->definition);
  if (!text) return reply.send(problem(text.error()));
  json::object out = definition_json(*found);
  json::error_code error;
  json::value job = json::parse(*text, error);
  out["job"] = error ? json::value(nullptr) : std::move(job);
  reply.send(json_response(200, out));
}

// A job without its items, and a name for it.
void NativeApi::add_definition(Asked asked, HttpReply reply) {
  auto document = own_document(asked.request.body);
  if (!document) return reply.send(problem(document.error()));
  auto job = submission_from(*document, {.command = true, .items = false});
  if (!job) return reply.send(problem(job.error()));
  if (auto valid = check_name("definition", job->name); !valid) return reply.send(problem(valid.error()));
  const bool has_items = job->said.contains("items") || job->said.contains("range") || job->said.contains("manifest");
  if (has_items || !job->named_definition.empty()) {
    return reply.send(
        problem({ErrorCode::bad_input,
                 has_items ? "a definition cannot have items" : "a definition cannot be based on another one",
                 "remove the field here, and set it in the jobs that use the definition"}));
  }
  const std::string name = std::exchange(job->name, {});
  job->client_token.clear();
  job->said.erase("name");
  job->said.erase("client_token");
  auto stored = backend_.add_definition(submission_to_json(*job));
  if (!stored) return reply.send(problem(stored.error()));
  backend_.post(AddRevision{name, *stored, asked.asker.owner()},
                [name, reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  if (!effect) return reply->send(problem(effect.error()));
                  reply->send(json_response(
                      201, json::object{{"name", name}, {"revision", std::get<RevisionAdded>(*effect).revision}}));
                });
}

void NativeApi::retire_definition(Asked asked, HttpReply reply) {
  auto found = find_definition(asked.parts[0]);
  if (!found) return reply.send(problem(found.error()));
  answer_done(RetireRevision{found->name, found->revision}, {{"name", found->name}, {"revision", found->revision}},
              std::move(reply));
}

}  // namespace drover
