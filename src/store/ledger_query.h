// Questions in SQL, asked of a ledger by people. Read-only, and bounded in time.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/cells.h"

namespace drover {

/// Gets the names of the columns once, then every row; `false` ends the query.
struct QuerySink {
  std::function<void(const std::vector<std::string>&)> columns;
  std::function<bool(const std::vector<Cell>&)> row;
};

struct QueryLimits {
  std::int64_t time_ms = 0;
  std::stop_token stop = {};  // ends it at once
};

Result<void> query_ledger(const std::string& path, const std::string& sql, const QueryLimits& limits,
                          const QuerySink& sink);

}  // namespace drover
