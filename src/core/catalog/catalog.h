// The part of the core that keeps what has a name and no items: queues, definitions, documents.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "core/command.h"
#include "core/journal.h"

namespace drover {

struct CatalogRecords {
  std::map<std::string, Queue> queues;  // the default one is here only when it was changed
  std::map<std::pair<std::string, std::uint64_t>, NamedDefinition> definitions;
  std::map<std::pair<std::string, std::string>, Document> documents;  // by kind and name

  /// nullptr: there is none. The default one is always there.
  const Queue* find_queue(const std::string& name) const;

  Result<void> restore(const PutQueue& put);
  Result<void> restore(const PutDefinition& put);
  Result<void> restore(const PutDocument& put);
  void add_to(Hasher& hasher) const;
};

/// Who has jobs in queues, and has to hear when one changes.
class QueueUser {
 public:
  virtual ~QueueUser() = default;
  /// The name of a job in it that has not ended.
  virtual std::optional<std::string> unended_job_in(const std::string& queue) const = 0;
  /// What its jobs are ordered by is about to change; perhaps also the units in which their shares' usage is kept.
  virtual void before_queue_changes(const std::string& queue, bool forget_usage) = 0;
  virtual void after_queue_changed(const Queue& queue, bool has_become_fair) = 0;
  virtual void after_queue_dropped(const std::string& queue) = 0;
};

class Catalog {
 public:
  Catalog(CatalogRecords& records, Journal& journal) : records_(records), journal_(journal) {}
  void set_user(QueueUser& user) { user_ = &user; }

  void on(Ticket ticket, const SetQueue& command);
  void on(Ticket ticket, const DropQueue& command);
  void on(Ticket ticket, const AddRevision& command);
  void on(Ticket ticket, const RetireRevision& command);
  void on(Ticket ticket, const SetDocuments& command);

  const Queue* find_queue(const std::string& name) const { return records_.find_queue(name); }
  /// The usage of its shares is counted from this time on.
  void set_usage_from(const std::string& queue, std::int64_t from_ms);

  void take_changes(std::vector<Mutation>& out);

 private:
  CatalogRecords& records_;
  Journal& journal_;
  QueueUser* user_ = nullptr;
  Changed<std::string> queues_{journal_};
  Changed<std::pair<std::string, std::uint64_t>> definitions_{journal_};
  Changed<std::pair<std::string, std::string>> documents_{journal_};
};

}  // namespace drover
