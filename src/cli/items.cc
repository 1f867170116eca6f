// drover items: the items of a run, or one of them with what it printed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>

#include "base/units.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "cli/report.h"
#include "store/manifest.h"
#include "wire/base64.h"
#include "worker/item_list.h"

namespace drover {
namespace {

namespace json = boost::json;

struct ItemsFlags {
  CommonFlags common;
  std::string reference;
  std::string state;
  std::int64_t limit = 100;
};

std::string how_it_ended(const ListedItem& item) {
  if (!item.last) return "-";
  if (item.last->exit_code) return std::to_string(*item.last->exit_code);
  if (item.last->ending == Ending::signalled) return fmt::format("SIG {}", item.last->signal.value_or(0));
  return std::string(to_string(item.last->ending));
}

json::object to_json(const Attempt& attempt) {
  const auto or_null = [](const auto& value) { return value ? json::value(*value) : json::value(nullptr); };
  return {{"attempt", attempt.attempt.value},
          {"state", std::string(to_string(attempt.state))},
          {"ending", std::string(to_string(attempt.ending))},
          {"exit_code", or_null(attempt.exit_code)},
          {"signal", or_null(attempt.signal)},
          {"reason", attempt.reason.empty() ? json::value(nullptr) : json::value(utf8(attempt.reason))},
          {"started_ms", attempt.started_ms},
          {"ended_ms", attempt.ended_ms},
          {"wall_us", attempt.wall_us},
          {"cpu_ms", (attempt.user_us + attempt.system_us + 500) / 1000},
          {"peak_memory_kib", attempt.peak_memory_kib}};
}

json::object to_json(const ListedItem& item, const std::string& text) {
  json::object out{{"index", item.item.value}};
  if (utf8(text) == text) {
    out["item"] = text;
  } else {
    out["item_b64"] = base64(text);
  }
  out["state"] = std::string(to_string(item.state));
  out["attempts"] = item.attempts;
  out["last"] = item.last ? json::value(to_json(*item.last)) : json::value(nullptr);
  return out;
}

// Control characters would move the cursor of whoever looks.
std::string printable(std::string_view text, std::size_t most) {
  std::string out = utf8(text.substr(0, most));
  std::ranges::replace_if(out, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  if (text.size() > most) out += "…";
  return out;
}

Result<int> list(const ItemsFlags& flags, OpenedRun& run, const std::set<ItemIndex>& running) {
  std::optional<ItemState> only;
  if (!flags.state.empty()) {
    only = item_state_from(flags.state);
    if (!only) {
      return fail(ErrorCode::bad_input, fmt::format("'{}' is no state of an item", flags.state),
                  "use pending, waiting, running, succeeded, failed or cancelled");
    }
  }
  auto manifest = ManifestReader::open(*run.reader, run.job.manifest);
  if (!manifest) return pass(manifest);
  if (!flags.common.json) {
    show("{:>9}  {:<9}  {:>8}  {:>11}  {:>11}  {:>10}  {}\n", "INDEX", "STATE", "ATTEMPTS", "EXIT", "TIME", "MEMORY",
         "ITEM");
  }
  std::uint64_t shown = 0;
  bool more = false;
  std::optional<Error> failed;
  auto listed = list_items(*run.reader, run.job, running, only, [&](const ListedItem& item) {
    if (flags.limit != 0 && shown == static_cast<std::uint64_t>(flags.limit)) {
      more = true;
      return false;
    }
    auto text = manifest->item(item.item);
    if (!text) {
      failed = text.error();
      return false;
    }
    ++shown;
    if (flags.common.json) {
      show("{}\n", json::serialize(to_json(item, *text)));
    } else {
      show("{:>9}  {:<9}  {:>8}  {:>11}  {:>11}  {:>10}  {}\n", item.item.value, to_string(item.state), item.attempts,
           how_it_ended(item), item.last ? format_duration_us(item.last->wall_us) : "-",
           item.last ? format_size(static_cast<std::uint64_t>(item.last->peak_memory_kib) * 1024) : "-",
           printable(*text, 60));
    }
    return true;
  });
  if (!listed) return pass(listed);
  if (failed) return std::unexpected(*failed);
  if (more && !flags.common.json && !flags.common.quiet) {
    print_notice(fmt::format("more follow; --limit 0 shows all"));
  }
  return kAllSucceeded;
}

Result<int> show_one(const ItemsFlags& flags, OpenedRun& run, const std::set<ItemIndex>& running) {
  const ItemIndex index{run.reference.item};
  auto item = look_up_item(*run.reader, run.job, running, index);
  if (!item) return pass(item);
  auto manifest = ManifestReader::open(*run.reader, run.job.manifest);
  if (!manifest) return pass(manifest);
  auto text = manifest->item(index);
  if (!text) return pass(text);
  std::vector<Attempt> attempts;
  auto read = run.reader->each_attempt(run.job.id, index, [&](const Attempt& attempt) {
    if (attempt.item == index) attempts.push_back(attempt);
    return attempt.item == index;
  });
  if (!read) return pass(read);

  json::array listed;
  if (!flags.common.json) {
    show("item {} of run '{}': {}\n  {}\n", index.value, run.folder.name(), to_string(item->state),
         printable(*text, 500));
  }
  for (const Attempt& attempt : attempts) {
    auto output = run.reader->output(run.job.id, index, attempt.attempt);
    if (!output) return pass(output);
    const AttemptOutput printed = output->value_or(AttemptOutput{});
    if (flags.common.json) {
      json::object one = to_json(attempt);
      one["stdout"] = utf8(printed.stdout_tail);
      one["stderr"] = utf8(printed.stderr_tail);
      listed.push_back(std::move(one));
      continue;
    }
    show("attempt {}: {}{}, {}, {}\n", attempt.attempt.value, to_string(attempt.state),
         attempt.reason.empty() ? "" : fmt::format(" ({})", printable(attempt.reason, 300)),
         format_duration_us(attempt.wall_us), format_size(static_cast<std::uint64_t>(attempt.peak_memory_kib) * 1024));
    for (const auto& [name, bytes] : {std::pair("stdout", &printed.stdout_tail), {"stderr", &printed.stderr_tail}}) {
      if (bytes->empty()) continue;
      show("--- {}\n", name);
      print_text(stdout, *bytes);
      if (!bytes->ends_with('\n')) show("\n");
    }
  }
  if (flags.common.json) {
    json::object out = to_json(*item, *text);
    out.erase("last");
    out["attempts"] = std::move(listed);
    show("{}\n", json::serialize(out));
  }
  return kAllSucceeded;
}

Result<int> items(const ItemsFlags& flags) {
  auto run = open_run(flags.common, flags.reference);
  if (!run) return pass(run);
  std::set<ItemIndex> running;
  for (const auto& [item, it] : run->running()) running.insert(ItemIndex{item});
  return run->reference.has_item ? show_one(flags, *run, running) : list(flags, *run, running);
}

}  // namespace

void add_items(CLI::App& app, Invocation& invocation) {
  auto flags = std::make_shared<ItemsFlags>();
  CLI::App* verb = app.add_subcommand("items", "List the items of a run, or show one with what it printed");
  add_common_flags(*verb, flags->common);
  verb->add_option("run", flags->reference, "The run, or RUN:INDEX for one item (default: the newest run)");
  verb->add_option("--state", flags->state, "Only items in this state")->type_name("STATE");
  verb->add_option("--limit", flags->limit, "At most this many; 0: all (default: 100)")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  verb->footer("Examples:\n  drover items nightly --state failed\n  drover items nightly:17");
  verb->callback([flags, &invocation] {
    auto done = items(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
