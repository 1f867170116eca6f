// One item as it is recorded, by a run on this machine or by a server: all that it takes to run it again.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/ids.h"
#include "base/result.h"
#include "base/words.h"
#include "cli/server_client.h"
#include "cli/verb.h"
#include "wire/definition.h"

namespace drover {

/// An attempt that ended.
struct RecordedAttempt {
  std::uint32_t number = 0;
  std::string how;     // "exit code 3", "timed out"
  std::string worker;  // whose it was; empty: this machine's, or nobody knows
};

struct RecordedItem {
  std::string job;   // its name
  std::string uuid;  // of the job
  ItemIndex index;
  std::string text;
  Definition definition;  // with the limits that the item is held to by now
  std::int64_t timeout_ms = 0;
  std::int64_t grace_ms = 0;
  std::optional<RecordedAttempt> attempt;  // the one that is meant; nothing: none has ended
  bool is_running = false;                 // right now
  /// Of a server's job: what its workers set for every attempt. The job's key is theirs alone.
  std::optional<std::map<std::string, std::string>> settings;

  std::uint32_t attempt_number() const { return attempt ? attempt->number : 1; }
};

/// Which item, by a run's name or a server's job: the verbs that look into one have this in common.
struct ItemFlags {
  CommonFlags common;
  ServerFlags server;
  std::string reference;      // JOB:INDEX
  std::uint32_t attempt = 0;  // 0: the last one
};
void add_item_flags(const Verb& verb, ItemFlags& flags);

Result<RecordedItem> find_item(const ItemFlags& flags);

}  // namespace drover
