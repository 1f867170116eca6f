#include "store/ledger_check.h"

#include "base/text.h"
#include "store/read_only.h"

namespace drover {

Result<LedgerState> check_ledger(const std::string& path, std::int64_t limit_ms) {
  auto db = open_read_only(path);
  if (!db) return pass(db);
  LedgerState state;
  auto version = db->number("SELECT version FROM schema_version");
  if (!version) return pass(version);
  state.version = *version;
  db->limit_time(limit_ms);
  auto check = db->prepare("PRAGMA quick_check(1)");
  if (!check) return pass(check);
  auto row = check->step();
  if (!row && row.error().code == ErrorCode::bad_input) return state;  // that was all of its time
  if (!row) return pass(row);
  if (*row && check->text(0) != "ok") {
    return fail(ErrorCode::damaged, concat(path, ": ", check->text(0)));
  }
  state.was_checked = true;
  return state;
}

}  // namespace drover
