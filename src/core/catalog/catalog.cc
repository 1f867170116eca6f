#include "core/catalog/catalog.h"

#include "base/text.h"
#include "core/record_hash.h"

namespace drover {

const Queue* CatalogRecords::find_queue(const std::string& name) const {
  static const Queue always{.name = std::string(kDefaultQueue)};
  const auto it = queues.find(name);
  if (it != queues.end()) return &it->second;
  return name == kDefaultQueue ? &always : nullptr;
}

Result<void> CatalogRecords::restore(const PutQueue& put) {
  queues.insert_or_assign(put.queue.name, put.queue);
  return {};
}

Result<void> CatalogRecords::restore(const PutDefinition& put) {
  definitions.insert_or_assign({put.definition.name, put.definition.revision}, put.definition);
  return {};
}

Result<void> CatalogRecords::restore(const PutDocument& put) {
  documents.insert_or_assign({put.document.kind, put.document.name}, put.document);
  return {};
}

void CatalogRecords::add_to(Hasher& hasher) const {
  for (const auto& [name, queue] : queues) add_record(hasher, queue);
  for (const auto& [key, definition] : definitions) add_record(hasher, definition);
  for (const auto& [key, document] : documents) add_record(hasher, document);
}

// The jobs of a queue leave their places and take new ones: its priority, its order or its shares may be others.
void Catalog::on(Ticket ticket, const SetQueue& command) {
  Queue queue = command.queue;
  const auto known = records_.queues.find(queue.name);
  const bool is_new = known == records_.queues.end();
  // Usage in other units cannot be compared: everybody begins anew.
  const bool has_other_units = !is_new && known->second.decay_s != queue.decay_s;
  queue.created_ms = is_new ? journal_.now_ms() : known->second.created_ms;
  queue.usage_from_ms = is_new || has_other_units ? 0 : known->second.usage_from_ms;
  const bool was_fair = !is_new && known->second.order == QueueOrder::fair;
  user_->before_queue_changes(queue.name, has_other_units);
  const Queue& kept = records_.queues.insert_or_assign(queue.name, std::move(queue)).first->second;
  user_->after_queue_changed(kept, kept.order == QueueOrder::fair && !was_fair);
  queues_.add(kept.name);
  journal_.note(EventKind::queue_changed, kept.name, !kept.enabled ? "disabled" : kept.closed ? "closed" : "enabled");
  journal_.say(ticket, QueueSet{});
}

void Catalog::on(Ticket ticket, const DropQueue& command) {
  if (command.queue == kDefaultQueue) {
    return journal_.refuse(ticket, ErrorCode::conflict, "queue 'default' cannot be removed", "disable it instead");
  }
  if (!records_.queues.contains(command.queue)) {
    return journal_.refuse(ticket, ErrorCode::not_found, concat("queue '", command.queue, "' not found"),
                           "list queues with 'drover queue list'");
  }
  if (const auto job = user_->unended_job_in(command.queue)) {
    return journal_.refuse(ticket, ErrorCode::conflict,
                           concat("job ", *job, " in queue '", command.queue, "' has not ended"),
                           "disable the queue, then cancel its jobs or wait for them");
  }
  records_.queues.erase(command.queue);
  user_->after_queue_dropped(command.queue);
  queues_.add(command.queue);
  journal_.note(EventKind::queue_deleted, command.queue);
  journal_.say(ticket, QueueDropped{});
}

void Catalog::set_usage_from(const std::string& queue, std::int64_t from_ms) {
  records_.queues.try_emplace(queue, Queue{.name = queue}).first->second.usage_from_ms = from_ms;
  queues_.add(queue);
}

void Catalog::on(Ticket ticket, const AddRevision& command) {
  std::uint64_t revision = 1;
  if (const auto after = records_.definitions.upper_bound({command.name, Policy::kNoLimit});
      after != records_.definitions.begin() && std::prev(after)->first.first == command.name) {
    revision = std::prev(after)->first.second + 1;
  }
  records_.definitions.insert_or_assign(
      {command.name, revision},
      NamedDefinition{command.name, revision, command.definition, true, journal_.now_ms(), command.owner});
  definitions_.add({command.name, revision});
  journal_.say(ticket, RevisionAdded{revision});
}

void Catalog::on(Ticket ticket, const RetireRevision& command) {
  const auto found = records_.definitions.find({command.name, command.revision});
  if (found == records_.definitions.end()) {
    return journal_.refuse(ticket, ErrorCode::not_found,
                           concat("definition '", command.name, ":", command.revision, "' not found"),
                           "list definitions with 'drover definition list'");
  }
  found->second.active = false;
  definitions_.add({command.name, command.revision});
  journal_.say(ticket, RevisionRetired{});
}

// What was read outside may have changed since: the versions say so.
void Catalog::on(Ticket ticket, const SetDocuments& command) {
  for (const SetDocuments::Change& it : command.changes) {
    const auto known = records_.documents.find({it.kind, it.name});
    const std::uint64_t version = known == records_.documents.end() ? 0 : known->second.version;
    if (it.version && *it.version != version) {
      return journal_.refuse(ticket, ErrorCode::conflict, concat(it.kind, " '", it.name, "' has changed meanwhile"),
                             "read it again");
    }
  }
  for (const SetDocuments::Change& it : command.changes) {
    const std::pair key{it.kind, it.name};
    if (it.text) {
      Document& kept =
          records_.documents.try_emplace(key, Document{it.kind, it.name, {}, 0, journal_.now_ms()}).first->second;
      kept.text = *it.text;
      ++kept.version;
    } else {
      records_.documents.erase(key);
    }
    documents_.add(key);
  }
  journal_.say(ticket, DocumentsSet{});
}

void Catalog::take_changes(std::vector<Mutation>& out) {
  queues_.take<PutQueue>(records_.queues, out, [](const std::string& name) { return DeleteQueue{name}; });
  definitions_.take<PutDefinition>(records_.definitions, out);
  documents_.take<PutDocument>(records_.documents, out,
                               [](const auto& key) { return DeleteDocument{key.first, key.second}; });
}

}  // namespace drover
