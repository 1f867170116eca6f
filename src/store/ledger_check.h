// Whether a ledger can be read, and is whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace drover {

struct LedgerState {
  std::int64_t version = 0;  // of its schema
  bool was_checked = false;  // false: there was not enough time to look at all of it
};

/// `damaged` if it is not whole, `newer_schema` if a later version wrote it.
Result<LedgerState> check_ledger(const std::string& path, std::int64_t limit_ms);

}  // namespace drover
