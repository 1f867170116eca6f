// drover items: the items of a run, or one of them with what it printed.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "base/utf8.h"
#include "cli/opened_run.h"
#include "cli/print.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"
#include "cli/usage_words.h"
#include "screen/live_block.h"
#include "screen/plain_text.h"
#include "store/manifest.h"
#include "wire/views.h"
#include "worker/item_list.h"
#include "worker/run_logs.h"

namespace drover {
namespace {

namespace json = boost::json;

// Of each stream of an attempt, when one item is shown: the whole is for `drover logs`.
constexpr std::size_t kEndBytes = std::size_t{64} << 10;
constexpr std::size_t kMostFrames = 64;
constexpr std::uint64_t kMostSorted = 100'000;

struct ItemsFlags {
  CommonFlags common;
  ServerFlags server;
  std::string reference;
  std::string state;
  std::int64_t limit = 100;
  std::string sort;
  bool tsv = false;
};

std::string how_it_ended(const ListedItem& item) {
  if (!item.last) return "-";
  if (item.last->exit_code) return std::to_string(*item.last->exit_code);
  if (item.last->ending == Ending::signalled) return fmt::format("SIG {}", item.last->signal.value_or(0));
  return std::string(to_string(item.last->ending));
}

json::object to_json(const ListedItem& item, const std::string& text) {
  json::object out{{"index", item.item.value}};
  put_item_text(out, text);
  out["state"] = std::string(to_string(item.state));
  out["attempts"] = item.attempts;
  out["last"] = item.last ? json::value(attempt_to_json(*item.last)) : json::value(nullptr);
  return out;
}

enum class SortBy : std::uint8_t { index, duration, memory, gpu, started };

/// One of the words that --sort takes.
SortBy sort_from(std::string_view word) {
  if (word == "duration") return SortBy::duration;
  if (word == "memory") return SortBy::memory;
  if (word == "gpu") return SortBy::gpu;
  if (word == "started") return SortBy::started;
  return SortBy::index;
}

std::int64_t sort_value(SortBy by, const ListedItem& item) {
  if (!item.last) return -1;
  switch (by) {
    case SortBy::index: break;
    case SortBy::duration: return item.last->wall_us;
    case SortBy::memory: return item.last->peak_memory_kib;
    case SortBy::gpu: return item.last->gpu_busy_us;
    case SortBy::started: return item.last->started_ms;
  }
  return 0;
}

/// The largest of many, of which only so many are kept in memory.
class Largest {
 public:
  Largest(SortBy by, std::size_t most) : by_(by), most_(most) {}

  void add(const ListedItem& item) {
    kept_.emplace(sort_value(by_, item), item);
    if (kept_.size() > most_) kept_.erase(std::prev(kept_.end()));
  }
  template <class Take>
  void each(Take&& take) const {
    for (const auto& [value, item] : kept_) {
      if (!take(item)) return;
    }
  }

 private:
  const SortBy by_;
  const std::size_t most_;
  std::multimap<std::int64_t, ListedItem, std::greater<>> kept_;
};

std::string size_text(const std::optional<Attempt>& attempt) {
  return attempt ? format_size(static_cast<std::uint64_t>(attempt->peak_memory_kib) * 1024) : "-";
}

/// Items as a table as wide as the terminal, as lines of tab-separated values, or as JSON.
class ItemPrinter {
 public:
  ItemPrinter(bool json, bool tsv, bool shows_gpus) : json_(json), tsv_(tsv), shows_gpus_(shows_gpus) {
    if (isatty(STDOUT_FILENO) == 1) width_ = LiveBlock(STDOUT_FILENO).size().columns;
  }

  void header() const {
    if (tsv_) {
      show(
          "index\tstate\tattempts\texit\twall_us\tcpu_us\tpeak_memory_kib\tread_bytes\twritten_bytes\tlog_bytes\t"
          "started_ms\tgpu_busy_us\tpeak_gpu_memory_kib\tgpu_energy_mj\titem\n");
    } else if (!json_) {
      show(kRow, "INDEX", "STATE", "ATTEMPTS", "EXIT", "TIME", shows_gpus_ ? "GPU" : "MEMORY", "ITEM");
    }
  }

  /// `running_us`: for how long it has been running; nothing: it is not.
  void print(const ListedItem& item, const std::string& text, std::optional<std::int64_t> running_us) const {
    if (json_) {
      show("{}\n", json::serialize(to_json(item, text)));
    } else if (tsv_) {
      const Attempt last = item.last.value_or(Attempt{});
      show("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", item.item.value, to_string(item.state),
           item.attempts, how_it_ended(item), last.wall_us, last.user_us + last.system_us, last.peak_memory_kib,
           last.read_bytes, last.written_bytes, last.log.bytes, last.started_ms, last.gpu_busy_us,
           last.peak_gpu_memory_kib, last.gpu_energy_mj, plain_text(text));
    } else {
      const std::size_t room = width_ == 0 ? 60 : width_ > kFixedCells + 10 ? width_ - kFixedCells : 10;
      show(kRow, item.item.value, to_string(item.state), item.attempts, how_it_ended(item),
           running_us  ? format_duration_us(*running_us)
           : item.last ? format_duration_us(item.last->wall_us)
                       : "-",
           shows_gpus_ && item.last ? format_duration_us(item.last->gpu_busy_us) : size_text(item.last),
           plain_text(text, room));
    }
  }

 private:
  static constexpr const char* kRow = "{:>9}  {:<9}  {:>8}  {:>11}  {:>11}  {:>10}  {}\n";
  static constexpr std::size_t kFixedCells = 9 + 9 + 8 + 11 + 11 + 10 + 6 * 2 + 1;

  template <class... Values>
  static void show(const char* format, const Values&... values) {
    print_text(stdout, fmt::format(fmt::runtime(format), values...));
  }

  const bool json_;
  const bool tsv_;
  const bool shows_gpus_;  // instead of memory
  std::size_t width_ = 0;  // 0: no terminal
};

Result<int> print_items(const ItemsFlags& flags, OpenedRun& run, const std::set<ItemIndex>& running) {
  const auto now = run.running();
  const std::optional<ItemState> only = item_state_from(flags.state);
  const SortBy sort = sort_from(flags.sort);
  const auto limit = static_cast<std::uint64_t>(flags.limit);
  if (sort != SortBy::index && (limit == 0 || limit > kMostSorted)) {
    return fail(ErrorCode::bad_input, "--sort requires a limit, because sorted items are kept in memory",
                fmt::format("use --limit N, at most {}", kMostSorted));
  }
  auto manifest = ManifestReader::open(*run.reader, run.job.manifest);
  if (!manifest) return pass(manifest);
  const ItemPrinter printer(flags.common.json, flags.tsv, sort == SortBy::gpu);
  printer.header();
  std::uint64_t shown = 0;
  bool more = false;
  std::optional<Error> failed;
  const auto print = [&](const ListedItem& item) {
    auto text = manifest->item(item.item);
    if (!text) {
      failed = text.error();
      return false;
    }
    const auto it = now.find(item.item.value);
    std::optional<std::int64_t> running_us;
    if (it != now.end()) running_us = static_cast<std::int64_t>(it->second.seconds * 1e6);
    printer.print(item, *text, running_us);
    ++shown;
    return true;
  };
  Largest largest(sort, limit);
  auto listed = list_items(*run.reader, run.job, running, {.only = only}, [&](const ListedItem& item) {
    if (sort != SortBy::index) {
      largest.add(item);
      return true;
    }
    more = limit != 0 && shown == limit;
    return !more && print(item);
  });
  if (!listed) return pass(listed);
  largest.each(print);
  if (failed) return std::unexpected(*failed);
  if (more && !flags.common.json && !flags.tsv && !flags.common.quiet) {
    print_notice(fmt::format("there are more items; --limit 0 shows all"));
  }
  return kAllSucceeded;
}

/// The last of what an attempt printed, each stream by itself.
struct OutputEnds {
  std::string out;
  std::string err;
};

Result<OutputEnds> output_ends(RunLogs& logs, const LoggedAttempt& attempt) {
  OutputEnds ends;
  auto places = logs.reader().frames_of(attempt.extents);
  if (!places) return pass(places);
  // From the last frame back, until there is enough of both or enough was looked at.
  const std::size_t first = places->size() > kMostFrames ? places->size() - kMostFrames : 0;
  for (std::size_t i = first; i < places->size(); ++i) {
    auto raw = logs.reader().frame((*places)[i]);
    if (!raw) return pass(raw);
    if (*raw == nullptr) continue;
    RecordCursor cursor(**raw);
    while (const auto record = cursor.next()) {
      if (record->key != attempt.key) continue;
      std::string& end = record->stream == LogStream::err ? ends.err : ends.out;
      end += record->bytes;
      if (end.size() > 2 * kEndBytes) end.erase(0, end.size() - kEndBytes);
    }
  }
  for (std::string* end : {&ends.out, &ends.err}) {
    if (end->size() > kEndBytes) end->erase(0, end->size() - kEndBytes);
  }
  return ends;
}

void print_attempt(const LoggedAttempt& attempt, const OutputEnds& ends) {
  if (attempt.row) {
    const Attempt& row = *attempt.row;
    show("attempt {}: {}{}, {}, {} of memory{}, {} read, {} written\n", row.attempt.value, to_string(row.state),
         row.reason.empty() ? "" : fmt::format(" ({})", plain_text(row.reason, 300)), format_duration_us(row.wall_us),
         size_text(row), gpu_words(row.gpu_busy_us, row.peak_gpu_memory_kib, row.gpu_energy_mj),
         format_size(static_cast<std::uint64_t>(row.read_bytes)),
         format_size(static_cast<std::uint64_t>(row.written_bytes)));
  } else {
    show("attempt {}: {}\n", attempt.key.attempt.value,
         attempt.running ? "running" : "end not recorded: the run was killed");
  }
  for (const auto& [name, bytes] : {std::pair("stdout", &ends.out), {"stderr", &ends.err}}) {
    if (bytes->empty()) continue;
    show("--- {}\n", name);
    print_text(stdout, *bytes);
    if (!bytes->ends_with('\n')) show("\n");
  }
}

Result<int> print_item(const ItemsFlags& flags, OpenedRun& run, const std::set<ItemIndex>& running) {
  const ItemIndex index{run.reference.item};
  auto item = look_up_item(*run.reader, run.job, running, index);
  if (!item) return pass(item);
  auto manifest = ManifestReader::open(*run.reader, run.job.manifest);
  if (!manifest) return pass(manifest);
  auto text = manifest->item(index);
  if (!text) return pass(text);
  RunLogs logs(run.folder, *run.reader, run.job);
  auto attempts = logs.of_item(index);
  if (!attempts) return pass(attempts);

  json::array listed;
  if (!flags.common.json) {
    show("item {} of run '{}': {}\n  {}\n", index.value, run.folder.name(), to_string(item->state),
         plain_text(*text, 500));
  }
  for (const LoggedAttempt& attempt : *attempts) {
    auto ends = output_ends(logs, attempt);
    if (!ends) return pass(ends);
    if (!flags.common.json) {
      print_attempt(attempt, *ends);
      continue;
    }
    json::object one =
        attempt.row ? attempt_to_json(*attempt.row) : json::object{{"attempt", attempt.key.attempt.value}};
    if (!attempt.row) one["state"] = attempt.running ? "running" : "unrecorded";
    one["stdout"] = utf8(ends->out);
    one["stderr"] = utf8(ends->err);
    listed.push_back(std::move(one));
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
  auto site = site_of(flags.common, flags.server, flags.reference);
  if (!site) return pass(site);
  if (*site == Site::server) {
    return server_items(flags.common, flags.server,
                        {.reference = flags.reference,
                         .state = flags.state,
                         .sort = flags.sort,
                         .limit = static_cast<std::uint64_t>(flags.limit),
                         .tsv = flags.tsv});
  }
  auto run = open_run(flags.common, flags.reference);
  if (!run) return pass(run);
  std::set<ItemIndex> running;
  for (const auto& [item, it] : run->running()) running.insert(ItemIndex{item});
  return run->reference.has_item ? print_item(flags, *run, running) : print_items(flags, *run, running);
}

}  // namespace

void add_items(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<ItemsFlags>();
  Verb verb = app.add_subcommand("items", "List the items of a run, or show one item and its output");
  add_common_flags(verb, flags->common);
  add_place_flags(verb, flags->server);
  verb.add_option("run", flags->reference, "Run, or RUN:INDEX for one item (default: the newest run)").type_name("RUN");
  verb.add_option("--state", flags->state, "Show only items in this state")
      .type_name("STATE")
      .one_of({"pending", "waiting", "running", "succeeded", "failed", "cancelled"});
  verb.add_option("--limit", flags->limit, "Maximum number of items to list; 0: no limit (default: 100)")
      .type_name("N")
      .non_negative();
  verb.add_option("--sort", flags->sort, "Sort order: lowest index first, or highest value first for other keys")
      .type_name("KEY")
      .one_of({"index", "duration", "memory", "gpu", "started"});
  verb.add_flag("--tsv", flags->tsv, "Print tab-separated values");
  verb.footer("Examples:\n  drover items nightly --state failed --sort duration --limit 20\n  drover items nightly:17");
  verb.callback([flags, &invocation] {
    auto done = items(*flags);
    invocation.exit_status = done ? *done : failure(done.error());
  });
}

}  // namespace drover
