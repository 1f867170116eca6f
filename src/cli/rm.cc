// drover rm: removes runs of this machine and ended jobs of a server.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/opened_run.h"
#include "cli/server_job.h"

namespace drover {
namespace json = boost::json;
namespace {

struct RmFlags {
  CommonFlags common;
  ServerFlags server;
  std::vector<std::string> references;
  bool force = false;
};

Result<void> refuse_unfinished(const RmFlags& flags, const std::string& name) {
  auto run = open_run(flags.common, name);
  if (!run) {
    return fail(ErrorCode::conflict, fmt::format("run '{}' cannot be read: {}", name, run.error().message),
                "to remove it anyway, use --force");
  }
  if (run->job.ended()) return {};
  const std::uint64_t left = run->job.total - run->job.succeeded - run->job.failed - run->job.cancelled;
  return fail(ErrorCode::conflict, fmt::format("run '{}' is stopped with {} left", name, plural(left, "item")),
              fmt::format("finish it with 'drover resume {}', or remove it with --force", name));
}

Result<void> remove_run(const RmFlags& flags, const std::string& reference) {
  const std::string root = data_root(flags.common.data);
  auto which = resolve(root, reference);
  if (!which) return pass(which);
  if (auto whole = refuse_item(*which); !whole) return whole;
  auto folder = RunFolder::hold(root, which->run, print_notice);
  if (!folder) return pass(folder);
  if (!flags.force) {
    if (auto ended = refuse_unfinished(flags, which->run); !ended) return ended;
  }
  if (auto removed = folder->discard(); !removed) return removed;
  tell(flags.common, json::object{{"name", which->run}, {"removed", true}},
       fmt::format("run '{}' removed", which->run));
  return {};
}

Result<void> remove_job(const RmFlags& flags, const std::string& reference) {
  auto client = ServerClient::connect(flags.common, flags.server);
  if (!client) return pass(client);
  auto job = whole_job(*client, reference);
  if (!job) return pass(job);
  auto answer = client->remove(job_path(*job));
  if (!answer) return pass(answer);
  tell(flags.common, *answer, fmt::format("job '{}' removed", text_in(*answer, "name")));
  return {};
}

// All are tried; the first that could not be removed decides the exit status.
int remove_all(const RmFlags& flags) {
  int status = kAllSucceeded;
  for (const std::string& reference : flags.references) {
    auto place = site_of(flags.common, flags.server, reference);
    auto removed = !place                 ? Result<void>(pass(place))
                   : *place == Site::here ? remove_run(flags, reference)
                                          : remove_job(flags, reference);
    if (removed) continue;
    const int failed = failure(removed.error());
    if (status == kAllSucceeded) status = failed;
  }
  return status;
}

}  // namespace

void add_rm(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<RmFlags>();
  Verb verb = app.add_subcommand("rm", "Remove runs, or finished jobs on a server, with their logs");
  add_common_flags(verb, flags->common);
  add_place_flags(verb, flags->server);
  verb.add_option("run", flags->references, "Names or ids of runs or jobs").type_name("RUN").required();
  verb.add_flag("--force", flags->force,
                "Also remove a stopped run that has unfinished items, or a run that cannot be read");
  verb.footer(
      "Examples:\n  drover rm old\n  drover rm old-job --server http://head.example.org:8750\n"
      "Exit status: 0 if all were removed, 1 or 2 if some could not be removed; the messages say why.");
  verb.callback([flags, &invocation] { invocation.exit_status = remove_all(*flags); });
}

}  // namespace drover
