#include "server/lost_ledger.h"

#include <filesystem>

#include "base/text.h"
#include "keys/key_ring.h"
#include "logs/segment.h"
#include "store/ledger_file.h"

namespace drover {

Result<void> check_for_lost_ledger(const std::string& server_folder) {
  const std::string ledger = concat(server_folder, "/drover.db");
  if (!is_ledger_missing(ledger)) return {};
  std::error_code error;
  const bool has_keys = std::filesystem::exists(concat(server_folder, "/", kKeyRingFile), error);
  const bool has_logs = !segments_in(concat(server_folder, "/logs")).empty();
  if (!has_keys && !has_logs) return {};
  const std::string_view what = has_keys && has_logs ? "keys and logs" : has_keys ? "keys" : "logs";
  return fail(ErrorCode::damaged,
              concat("the server's ledger ", ledger, " is missing or empty, but the folder contains a server's ", what),
              concat("restore it from a backup, or move ", server_folder, " aside to start with no jobs"));
}

}  // namespace drover
