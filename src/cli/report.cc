// drover report: one page about a run, for a browser.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <filesystem>
#include <thread>

#include "base/units.h"
#include "build_info.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "engine/system_clock.h"
#include "page/report.h"
#include "screen/shape.h"
#include "store/manifest.h"
#include "wire/definition.h"
#include "worker/command_template.h"
#include "worker/machine.h"

namespace drover {
namespace {

struct ReportFlags {
  CommonFlags common;
  std::string reference;
  std::string out;
};

std::string this_machine() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return fmt::format("{}, {}, {} of memory", host, plural(std::max(1U, std::thread::hardware_concurrency()), "core"),
                     format_size(machine_memory_bytes()));
}

Result<int> report(const ReportFlags& flags) {
  auto run = open_run(flags.common, flags.reference);
  if (!run) return pass(run);
  if (auto whole = refuse_item(run->reference); !whole) return pass(whole);
  auto text = run->reader->definition(run->job.definition);
  if (!text) return pass(text);
  auto definition = definition_from_json(*text);
  if (!definition) return pass(definition);
  auto manifest = ManifestReader::open(*run->reader, run->job.manifest);
  if (!manifest) return pass(manifest);
  const std::string path = flags.out.empty() ? run->folder.name() + ".html" : flags.out;
  auto written = write_report(*run->reader, run->job,
                              {.path = path,
                               .drover_version = DROVER_VERSION,
                               .command = shown_command(definition->command),
                               .machine = this_machine(),
                               .running = run->holder.has_value(),
                               .now_ms = SystemWallClock().epoch_ms(),
                               .item_text = [&](ItemIndex item) { return manifest->item(item); },
                               .shape = shape_of});
  if (!written) return pass(written);
  std::error_code error;
  const std::string file = std::filesystem::absolute(path, error).string();
  if (flags.common.json) {
    show("{}\n", boost::json::serialize(boost::json::object{{"run", run->folder.name()}, {"file", file}}));
  } else if (!flags.common.quiet) {
    show("{}\n", file);
  }
  return kAllSucceeded;
}

}  // namespace

void add_report(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<ReportFlags>();
  Verb verb = app.add_subcommand("report", "Write an HTML report of a run");
  add_common_flags(verb, flags->common);
  verb.add_option("run", flags->reference, "Name or id of the run (default: the newest)").type_name("RUN");
  verb.add_option("--out,-o", flags->out, "File to write (default: NAME.html in the current directory)")
      .type_name("FILE");
  verb.footer("Example:\n  drover report nightly --out nightly.html");
  verb.callback([flags, &invocation] {
    auto done = report(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
