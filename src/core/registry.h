// What is kept by name beside jobs and queues: definitions with revisions, documents, and what each user has used.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "core/usage.h"

namespace drover {

/// One revision of a named definition. Its text, a job without its items, is in the store.
struct NamedDefinition {
  std::string name;
  std::uint64_t revision = 0;  // from 1
  DefinitionId definition;
  bool active = true;  // one that is not makes no new jobs
  std::int64_t created_ms = 0;
  std::string owner;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("revision", self.revision);
    visit("definition", self.definition);
    visit("active", self.active);
    visit("created_ms", self.created_ms);
    visit("owner", self.owner);
  }
};

/// What an API keeps under a name of its own, and nothing in the core depends on: a role, a subnet, the tags of a
/// queue.
struct Document {
  std::string kind;  // "iam.role"
  std::string name;
  std::string text;           // JSON
  std::uint64_t version = 0;  // from 1; rises with every change
  std::int64_t created_ms = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("kind", self.kind);
    visit("name", self.name);
    visit("text", self.text);
    visit("version", self.version);
    visit("created_ms", self.created_ms);
  }
};

/// What an owner's jobs have used that are no longer known.
struct Account {
  std::string owner;
  std::int64_t jobs = 0;
  JobUsage used;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& visit) {
    visit("owner", self.owner);
    visit("jobs", self.jobs);
    JobUsage::fields(self.used, visit);
  }
};

}  // namespace drover
