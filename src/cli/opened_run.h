// A run opened for reading: its folder, its ledger, its job, and what its holder says, if somebody holds it.
#pragma once

#include <boost/json/object.hpp>
#include <map>
#include <memory>
#include <optional>

#include "cli/verb.h"
#include "ports/store.h"
#include "store/run_folder.h"

namespace drover {

struct OpenedRun {
  RunFolder folder;
  Reference reference;
  std::unique_ptr<StoreReader> reader;
  Job job;
  std::optional<boost::json::object> holder;  // its answer to "status"

  /// What runs now, by item index, as the holder tells it: attempt and seconds.
  struct Running {
    std::uint64_t attempt = 0;
    double seconds = 0;
  };
  std::map<std::uint64_t, Running> running() const;
};

/// Why nothing can be said of a run without a job.
Error list_not_read(const std::string& run);

Result<OpenedRun> open_run(const CommonFlags& flags, const std::string& reference);

}  // namespace drover
