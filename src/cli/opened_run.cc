#include "cli/opened_run.h"

#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <thread>

#include "store/sqlite_store.h"
#include "worker/control.h"

namespace drover {

Error list_not_read(const std::string& run) {
  return {ErrorCode::not_found, fmt::format("run '{}' has not finished reading its list", run),
          "if it was interrupted, repeat the whole 'drover run' command"};
}

namespace {

// A run that has just been started makes its ledger and reads its list; most are done with that in no time.
constexpr std::chrono::milliseconds kStartPatience{1'000};
constexpr std::chrono::milliseconds kLookAgain{10};

struct Ledger {
  std::unique_ptr<StoreReader> reader;
  Job job;
};

Result<Ledger> read_ledger(const RunFolder& folder) {
  auto reader = open_sqlite_reader(folder.database());
  if (!reader) return pass(reader);
  auto jobs = (*reader)->jobs();
  if (!jobs) return pass(jobs);
  if (jobs->empty()) return std::unexpected(list_not_read(folder.name()));
  return Ledger{std::move(*reader), std::move(jobs->back())};
}

}  // namespace

Result<OpenedRun> open_run(const CommonFlags& flags, const std::string& text) {
  const std::string root = data_root(flags.data);
  auto reference = resolve(root, text);
  if (!reference) return pass(reference);
  auto folder = RunFolder::look(root, reference->run);
  if (!folder) return pass(folder);
  auto ledger = read_ledger(*folder);
  const auto give_up = std::chrono::steady_clock::now() + kStartPatience;
  while (!ledger && folder->holder() && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::sleep_for(kLookAgain);
    ledger = read_ledger(*folder);
  }
  if (!ledger && folder->holder()) return std::unexpected(list_not_read(reference->run));
  if (!ledger) return pass(ledger);
  OpenedRun run{std::move(*folder), *reference, std::move(ledger->reader), std::move(ledger->job), std::nullopt};
  if (run.folder.holder()) {
    if (auto answer = ask_holder(run.folder.path(), {{"verb", "status"}})) run.holder = std::move(*answer);
  }
  return run;
}

std::map<std::uint64_t, OpenedRun::Running> OpenedRun::running() const {
  std::map<std::uint64_t, Running> out;
  if (!holder || !holder->contains("running")) return out;
  for (const auto& one : holder->at("running").as_array()) {
    const auto& object = one.as_object();
    out[object.at("item").to_number<std::uint64_t>()] = {object.at("attempt").to_number<std::uint64_t>(),
                                                         object.at("seconds").to_number<double>()};
  }
  return out;
}

}  // namespace drover
