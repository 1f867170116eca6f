#include "cli/opened_run.h"

#include <fmt/format.h>

#include <boost/json.hpp>

#include "store/sqlite_store.h"
#include "worker/control.h"

namespace drover {

Error list_not_read(const std::string& run) {
  return {ErrorCode::not_found, fmt::format("run '{}' has not finished reading its list", run),
          "if it was interrupted then, type the whole 'drover run' line again"};
}

Result<OpenedRun> open_run(const CommonFlags& flags, const std::string& text) {
  const std::string root = data_root(flags.data);
  auto reference = resolve(root, text);
  if (!reference) return pass(reference);
  auto folder = RunFolder::look(root, reference->run);
  if (!folder) return pass(folder);
  auto reader = open_sqlite_reader(folder->database());
  if (!reader) return pass(reader);
  auto jobs = (*reader)->jobs();
  if (!jobs) return pass(jobs);
  if (jobs->empty()) return std::unexpected(list_not_read(reference->run));
  OpenedRun run{std::move(*folder), *reference, std::move(*reader), std::move(jobs->back()), std::nullopt};
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
