// drover objects rm.
#include <fmt/format.h>

#include <atomic>
#include <boost/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/object_access.h"
#include "cli/object_sources.h"
#include "cli/object_work.h"
#include "cli/objects_parts.h"
#include "cli/print.h"
#include "worker/stop_on_signal.h"

namespace drover {
namespace json = boost::json;
namespace {

struct ObjectsRemoveFlags : ObjectFlags {
  std::vector<std::string> places;
  bool recursive = false;
  bool no_glob = false;
  bool dry_run = false;
  int jobs = 8;
};

Result<int> remove_objects(const ObjectsRemoveFlags& flags) {
  auto places = object_places(flags.places);
  if (!places) return pass(places);
  auto opener = object_opener(flags);
  if (!opener) return pass(opener);
  const StopOnSignal signals;
  std::atomic<std::uint64_t> removed = 0;
  std::optional<Error> failed;
  ObjectWork work(*opener, static_cast<std::size_t>(flags.jobs), [](const Error& error) { print_error(error); });
  for (const ObjectUri& place : *places) {
    auto found =
        each_object(*opener, place, {.recursive = flags.recursive, .globs = !flags.no_glob}, signals.token(),
                    [&](const FoundObject& it) -> Result<void> {
                      if (flags.dry_run) {
                        ++removed;
                        if (!flags.common.quiet && !flags.common.json) show("would remove {}\n", utf8(it.uri.text()));
                        return {};
                      }
                      work.add([uri = it.uri, &removed, stop = signals.token()](OpenStores& stores) -> Result<void> {
                        if (stop.stop_requested()) return {};
                        auto store = stores.get(uri);
                        if (!store) return pass(store);
                        auto gone = (*store)->remove(uri.key);
                        if (gone) ++removed;
                        return gone;
                      });
                      return {};
                    });
    if (!found) {
      failed = std::move(found.error());
      break;
    }
  }
  const std::uint64_t failures = work.finish();
  if (failed && failed->code != ErrorCode::stopped) return std::unexpected(std::move(*failed));
  tell(flags.common, json::object{{"removed", removed.load()}, {"failed", failures}, {"dry_run", flags.dry_run}},
       fmt::format("{} {}{}", plural(removed, "object"), flags.dry_run ? "would be removed" : "removed",
                   failures == 0 ? "" : fmt::format(", {} failed", format_count(failures))));
  if (signals.signal() != 0) return kInterrupted;
  return failures == 0 ? kAllSucceeded : kSomeDidNot;
}

}  // namespace

void add_objects_remove(const Verb& parent, Invocation& invocation) {
  auto flags = std::make_shared<ObjectsRemoveFlags>();
  Verb verb = parent.add_subcommand("rm", "Remove objects");
  verb.add_option("uri", flags->places, "What to remove; repeatable").type_name("URI").required();
  add_object_flags(verb, *flags);
  verb.add_flag("-r,--recursive", flags->recursive, "Remove everything below a prefix");
  verb.add_flag("--no-glob", flags->no_glob, "Take * and ? in keys literally");
  verb.add_flag("--dry-run", flags->dry_run, "Show what would be removed");
  verb.add_option("--jobs", flags->jobs, "Number of objects to remove at once (default: 8)")
      .type_name("N")
      .range(1, 256);
  verb.footer(
      "Examples:\n"
      "  drover objects rm s3://photos/in/a.jpg\n"
      "  drover objects rm -r --dry-run s3://photos/in/\n"
      "  drover objects rm 's3://photos/**.tmp'");
  verb.callback([flags, &invocation] {
    auto done = remove_objects(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
