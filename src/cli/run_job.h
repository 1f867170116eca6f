// What run, resume and retry have in common: a job that is in the folder's store is driven to its end, watched and
// summed up.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "cli/output_printer.h"
#include "cli/verb.h"
#include "core/policy.h"
#include "ports/store.h"
#include "store/run_folder.h"
#include "worker/machine.h"
#include "worker/slot_devices.h"

namespace drover {

struct DriveOptions {
  CommonFlags flags;
  std::size_t slots = 1;
  std::string out_dir;
  std::optional<Policy> policy;  // replaces the job's
  bool take_failed = false;      // failed items run again
  bool resumed = false;
  std::optional<ItemLimits> limits;  // over those of the job's definition
  Shortage shortage;
  std::shared_ptr<SlotGrants> devices = nullptr;  // of no more slots than these; null: items ask for none
  std::optional<PrintOrder> print = {};           // what items print goes to standard output
};

/// Flags of run, resume and retry that print what items print.
struct PrintFlags {
  bool print = false;
  bool keep_order = false;
};
void add_print_flags(const Verb& verb, PrintFlags& flags);
Result<std::optional<PrintOrder>> print_order(const PrintFlags& flags, const CommonFlags& common);

/// Makes the folder of --out, if one is asked for.
Result<void> make_out_dir(const std::string& path);

/// How many items run at a time unless told: the cores this process may use.
std::size_t default_slots();

/// Opens the folder's store, saying so while another program's lock makes it wait.
Result<std::unique_ptr<Store>> open_store(const RunFolder& folder);

/// Submits `fresh`, or reopens the folder's job, runs it to the end and prints the summary. Gives the exit status.
Result<int> drive(RunFolder& folder, Store& store, const std::optional<SubmitJob>& fresh, const DriveOptions& options);

}  // namespace drover
