// drover items, of a server's job.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/money.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/answer.h"
#include "cli/print.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"
#include "cli/table.h"
#include "cli/usage_words.h"
#include "engine/system_clock.h"
#include "screen/plain_text.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::uint64_t kItemsPerPage = 1000;

std::int64_t signed_in(const json::value& object, const char* name) {
  const json::value* value = object.is_object() ? object.get_object().if_contains(name) : nullptr;
  json::error_code error;
  return value != nullptr && value->is_number() ? value->to_number<std::int64_t>(error) : 0;
}

bool has_number(const json::value& object, const char* name) {
  const json::value* value = object.is_object() ? object.get_object().if_contains(name) : nullptr;
  return value != nullptr && value->is_number();
}

/// How an attempt ended, in a few words.
std::string ending_words(const json::value& attempt) {
  if (has_number(attempt, "exit_code")) return fmt::format("exit code {}", signed_in(attempt, "exit_code"));
  std::string ending = text_in(attempt, "ending");
  if (ending == to_string(Ending::out_of_memory)) return "out of memory";
  if (has_number(attempt, "signal")) return fmt::format("signal {}", signed_in(attempt, "signal"));
  return ending;
}

/// The state, and how it ended where that says more.
std::string outcome_words(const json::value& attempt) {
  const std::string state = text_in(attempt, "state");
  const std::string ending = ending_words(attempt);
  return ending == state ? state : fmt::format("{}, {}", state, ending);
}

/// An exit code, or, where there is none, why.
std::string exit_text(const json::value& attempt) {
  if (!attempt.is_object()) return "-";
  if (has_number(attempt, "exit_code")) return std::to_string(signed_in(attempt, "exit_code"));
  if (text_in(attempt, "ending") == to_string(Ending::signalled)) {
    return fmt::format("SIG {}", signed_in(attempt, "signal"));
  }
  return text_in(attempt, "ending");
}

/// What the last attempt took; of an item that runs, for how long it has.
std::string run_time_text(const json::value& item, const json::value& last) {
  if (const auto since_ms = signed_in(item, "since_ms"); since_ms > 0) {
    return format_duration_us(std::max<std::int64_t>(0, SystemWallClock().epoch_ms() - since_ms) * 1000);
  }
  return last.is_null() ? "-" : format_duration_us(signed_in(last, "wall_us"));
}

std::string worker_text(const json::value& item) {
  const std::string worker = text_in(item, "worker");
  return worker.empty() ? "-" : worker;
}

std::string item_text(const json::value& item, std::size_t room) {
  return item.as_object().contains("item") ? plain_text(text_in(item, "item"), room) : "(bytes)";
}

void show_item(const std::string& job, const json::value& item) {
  show("item {} of job '{}': {}\n  {}\n", number_in(item, "index"), job, text_in(item, "state"), item_text(item, 500));
  for (const json::value& it : list_in(item, "history")) {
    const std::string worker = text_in(it, "worker");
    show("  attempt {}: {}{}, {}, {} of memory{}{}\n", number_in(it, "attempt"), outcome_words(it),
         worker.empty() ? "" : fmt::format(" on worker {}", worker), format_duration_us(signed_in(it, "wall_us")),
         format_size(number_in(it, "peak_memory_kib") * 1024),
         gpu_words(signed_in(it, "gpu_busy_us"), signed_in(it, "peak_gpu_memory_kib"), signed_in(it, "gpu_energy_mj")),
         has_number(it, "cost_microdollars") ? ", " + format_dollars(signed_in(it, "cost_microdollars")) : "");
    if (const std::string reason = text_in(it, "reason"); !reason.empty()) show("    {}\n", plain_text(reason, 200));
    if (const std::string said = text_in(it, "last_line"); !said.empty()) {
      show("    last line: {}\n", plain_text(said, 200));
    }
  }
  show("  show its output: drover logs {}:{}\n", job, number_in(item, "index"));
}

/// Items as a table as wide as the terminal, as lines of tab-separated values, or as JSON.
class ItemLinesPrinter {
 public:
  ItemLinesPrinter(bool json, bool tsv, bool shows_gpus) : json_(json), tsv_(tsv), shows_gpus_(shows_gpus) {
    if (const std::size_t width = terminal_width(); width > 0) {
      room_ = width > kFixedCells + 10 ? width - kFixedCells - 1 : 10;
    }
  }

  void header() const {
    if (tsv_) {
      show(
          "index\tstate\tattempts\texit\twall_us\tcpu_us\tpeak_memory_kib\tread_bytes\twritten_bytes\tlog_bytes\t"
          "started_ms\tgpu_busy_us\tpeak_gpu_memory_kib\tgpu_energy_mj\titem\n");
    } else if (!json_) {
      show(kRow, "INDEX", "STATE", "ATTEMPTS", "EXIT", "TIME", shows_gpus_ ? "GPU" : "MEMORY", "WORKER", "ITEM");
    }
  }

  void print(const json::value& item) const {
    const json::value* found = item.as_object().if_contains("last");
    const json::value last = found == nullptr ? json::value(nullptr) : *found;
    if (json_) {
      show("{}\n", json::serialize(item));
    } else if (tsv_) {
      show("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", number_in(item, "index"),
           text_in(item, "state"), number_in(item, "attempts"), exit_text(last), signed_in(last, "wall_us"),
           signed_in(last, "cpu_ms") * 1000, number_in(last, "peak_memory_kib"), number_in(last, "read_bytes"),
           number_in(last, "written_bytes"), number_in(last, "log_bytes"), number_in(last, "started_ms"),
           number_in(last, "gpu_busy_us"), number_in(last, "peak_gpu_memory_kib"), number_in(last, "gpu_energy_mj"),
           item_text(item, std::string::npos));
    } else {
      show(kRow, number_in(item, "index"), text_in(item, "state"), number_in(item, "attempts"), exit_text(last),
           run_time_text(item, last),
           last.is_null() ? "-"
           : shows_gpus_  ? format_duration_us(signed_in(last, "gpu_busy_us"))
                          : format_size(number_in(last, "peak_memory_kib") * 1024),
           worker_text(item), item_text(item, room_));
    }
  }

 private:
  static constexpr fmt::string_view kRow = "{:>9}  {:<9}  {:>8}  {:>13}  {:>11}  {:>10}  {:<12}  {}\n";
  static constexpr std::size_t kFixedCells = 9 + 9 + 8 + 13 + 11 + 10 + 12 + 7 * 2;

  const bool json_;
  const bool tsv_;
  const bool shows_gpus_;  // instead of memory
  std::size_t room_ = 60;
};

}  // namespace

Result<int> server_items(const CommonFlags& common, const ServerFlags& server, const ServerItems& wanted) {
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  auto which = job_and_item(*client, wanted.reference);
  if (!which) return pass(which);
  if (!which->item.empty()) {
    auto answer = client->get(job_path(which->job, "/items/" + which->item));
    if (!answer) return pass(answer);
    if (common.json) {
      show("{}\n", json::serialize(*answer));
    } else {
      show_item(which->job, *answer);
    }
    return kAllSucceeded;
  }
  if (wanted.sort == "started") {
    return fail(ErrorCode::bad_input,
                "--sort started is supported only for runs on this machine, not for jobs on a server",
                "use --sort duration, memory or gpu, or query with drover sql");
  }
  std::string how;
  if (!wanted.state.empty()) how += "&state=" + wanted.state;
  if (!wanted.sort.empty()) how += "&sort=" + wanted.sort;
  const ItemLinesPrinter printer(common.json, wanted.tsv, wanted.sort == "gpu");
  std::uint64_t left = wanted.limit == 0 ? std::numeric_limits<std::uint64_t>::max() : wanted.limit;
  std::uint64_t from = 0;
  bool more = true;
  while (more && left > 0) {
    auto page = client->get(
        job_path(which->job, fmt::format("/items?from={}&limit={}{}", from, std::min(left, kItemsPerPage), how)));
    if (!page) return pass(page);
    if (from == 0) printer.header();
    for (const json::value& item : list_in(*page, "items")) {
      --left;
      printer.print(item);
    }
    more = has_number(*page, "next");
    from = number_in(*page, "next");
  }
  if (more && !common.json && !wanted.tsv && !common.quiet) print_notice("there are more items; --limit 0 shows all");
  return kAllSucceeded;
}

}  // namespace drover
