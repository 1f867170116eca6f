// Queues and definitions by name, for every API.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "core/records.h"
#include "ports/store.h"

namespace drover {

/// The default one is among them, whether or not it was changed.
inline Result<std::vector<Queue>> all_queues(StoreReader& ledger) {
  auto queues = ledger.queues();
  if (!queues) return queues;
  if (std::ranges::find(*queues, kDefaultQueue, &Queue::name) == queues->end()) {
    queues->insert(queues->begin(), Queue{.name = std::string(kDefaultQueue)});
  }
  return queues;
}

/// "NAME" is its newest revision that is active; "NAME:REVISION" is one, active or not.
inline Result<NamedDefinition> find_named_definition(StoreReader& ledger, const std::string& reference) {
  const std::size_t colon = reference.rfind(':');
  const std::string name = reference.substr(0, colon);
  std::uint64_t revision = 0;
  if (colon != std::string::npos) {
    auto number = parse_number(reference.substr(colon + 1));
    // No second spelling: policies name definitions by their revisions.
    if (!number || *number == 0 || reference[colon + 1] == '0') {
      return fail(ErrorCode::bad_input, concat("invalid revision in '", utf8(reference), "'"),
                  "write NAME or NAME:REVISION");
    }
    revision = *number;
  }
  auto all = ledger.named_definitions();
  if (!all) return pass(all);
  const NamedDefinition* found = nullptr;
  for (const NamedDefinition& it : *all) {
    if (it.name == name && (revision == 0 ? it.active : it.revision == revision)) found = &it;
  }
  if (found == nullptr) {
    return fail(ErrorCode::not_found, concat("definition '", utf8(reference), "' not found"),
                "list them with 'drover definition list'");
  }
  return *found;
}

}  // namespace drover
