#include "cli/verb.h"

#include <fmt/format.h>
#include <signal.h>

#include <cstdio>

#include "base/units.h"
#include "cli/notices_in_background.h"
#include "store/run_folder.h"
#include "store/sqlite_store.h"

namespace drover {

void add_common_flags(const Verb& verb, CommonFlags& flags) {
  verb.add_option("--data", flags.data, "Data folder (default: $DROVER_DATA, or ~/.local/share/drover if unset)")
      .type_name("DIR");
  verb.add_flag("--json", flags.json, "Print machine-readable JSON");
  verb.add_flag("--quiet,-q", flags.quiet, "Print only errors");
}

void print_error(const Error& error) {
  print_to_error(fmt::format("drover: {}\n", error.message));
  if (!error.next.empty()) print_to_error(fmt::format("  next: {}\n", error.next));
}

int failure(const Error& error) {
  print_error(error);
  switch (error.code) {
    case ErrorCode::no_space:
    case ErrorCode::io:
    case ErrorCode::stopped: return kSomeDidNot;
    default: return kBadUsage;
  }
}

void block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void print_notice(const std::string& text) {
  print_to_error(fmt::format("drover: {}\n", text));
}

namespace {

// Runs whose job's UUID begins with this text.
std::vector<std::string> runs_by_uuid(const std::string& root, const std::string& prefix) {
  std::vector<std::string> found;
  for (const std::string& name : RunFolder::all(root)) {
    auto folder = RunFolder::look(root, name);
    if (!folder) continue;
    auto reader = open_sqlite_reader(folder->database());
    if (!reader) continue;
    auto jobs = (*reader)->jobs();
    if (!jobs) continue;
    for (const Job& job : *jobs) {
      if (job.uuid.text().starts_with(prefix)) found.push_back(name);
    }
  }
  return found;
}

}  // namespace

Result<void> refuse_item(const Reference& reference) {
  if (!reference.has_item) return {};
  return fail(ErrorCode::bad_input, "expected a run, not one of its items", "omit the colon and the index");
}

Result<Reference> resolve(const std::string& root, const std::string& text) {
  Reference reference;
  std::string name = text;
  if (const std::size_t colon = text.rfind(':'); colon != std::string::npos) {
    auto item = parse_number(std::string_view(text).substr(colon + 1));
    if (!item) {
      return fail(ErrorCode::bad_input, fmt::format("invalid item reference '{}'", text),
                  "write RUN:INDEX, such as render:17");
    }
    reference.has_item = true;
    reference.item = *item;
    name = text.substr(0, colon);
  }
  if (name.empty()) {
    auto newest = RunFolder::newest(root);
    if (!newest) {
      return fail(ErrorCode::not_found, fmt::format("no runs in {}", root),
                  "start one: drover run --items list.txt -- command {}");
    }
    reference.run = *newest;
    return reference;
  }
  if (is_valid_name(name) && RunFolder::look(root, name)) {
    reference.run = name;
    return reference;
  }
  const auto by_uuid = name.size() >= 4 ? runs_by_uuid(root, name) : std::vector<std::string>{};
  if (by_uuid.size() == 1) {
    reference.run = by_uuid.front();
    return reference;
  }
  if (by_uuid.size() > 1) {
    return fail(ErrorCode::bad_input, fmt::format("id prefix '{}' matches {} runs", name, by_uuid.size()),
                "use a longer prefix");
  }
  return fail(ErrorCode::not_found, fmt::format("run '{}' not found in {}", name, root), "list the runs: drover runs");
}

}  // namespace drover
