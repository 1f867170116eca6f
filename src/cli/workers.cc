// drover workers: who works for a server, and what becomes of them.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/device_state.h"
#include "base/units.h"
#include "cli/answer.h"
#include "cli/coming_machines.h"
#include "cli/print.h"
#include "cli/server_verb.h"
#include "cli/table.h"
#include "engine/system_clock.h"
#include "screen/plain_text.h"
#include "screen/time_words.h"

namespace drover {
namespace json = boost::json;
namespace {

struct WorkersFlags : AskingFlags {
  std::string worker;
};

std::string seen_text(const json::value& worker, double now_ms) {
  const auto seen_ms = number_in(worker, "seen_ms");
  if (seen_ms == 0) return "-";
  return duration_words(std::max(0.0, (now_ms - static_cast<double>(seen_ms)) / 1000)) + " ago";
}

// A worker need not say how much it has.
std::string cpus_text(const json::value& worker) {
  const json::value* cpus = worker.as_object().if_contains("cpus");
  return cpus != nullptr && cpus->is_number() ? fmt::format("{:g}", cpus->to_number<double>()) : "-";
}

std::string memory_text(const json::value& worker) {
  const auto bytes = number_in(worker, "memory_bytes");
  return bytes == 0 ? "-" : format_size(bytes);
}

std::string accelerators_text(const json::value& worker) {
  json::object has;
  for (const auto& [kind, count] : object_in(worker, "accelerators")) {
    if (count.is_number() && count.to_number<double>() > 0) has[kind] = count;
  }
  return pairs_text(has);
}

/// What is wrong with its GPUs, and which of them do nothing for the items that have them.
std::string device_notes(const json::value& worker) {
  std::string out;
  for (const json::value& it : list_in(worker, "devices")) {
    const std::string gpu = fmt::format("\nworker '{}': GPU {} ({})", text_in(worker, "name"), number_in(it, "index"),
                                        plain_text(text_in(it, "id"), 80));
    if (const std::string failure = text_in(it, "failure"); !failure.empty()) {
      out += fmt::format("{} gets no more items: {}\n  after repairing it, restart the worker\n", gpu,
                         plain_text(failure, 200));
    } else if (number_in(it, "idle_ms") >= std::uint64_t{kLongIdleMs} && !text_in(it, "job").empty()) {
      out += fmt::format("{} has been idle for {} while assigned to item {}:{}\n", gpu,
                         duration_words(static_cast<double>(number_in(it, "idle_ms")) / 1000), text_in(it, "job_name"),
                         number_in(it, "item"));
    }
  }
  return out;
}

void print_list(ServerClient& client, const json::value& answer) {
  using enum Column::Align;
  Table table({{.title = "NAME", .cut = true},
               {.title = "STATE"},
               {.title = "CPUS", .align = right},
               {.title = "MEMORY", .align = right},
               {.title = "ACCELERATORS", .spare = 1},
               {.title = "SEEN", .align = right, .spare = 2},
               {.title = "VERSION", .spare = 4},
               {.title = "FLEET", .spare = 3},
               {.title = "LABELS", .cut = true}});
  const auto now_ms = static_cast<double>(SystemWallClock().epoch_ms());
  std::string apart;
  for (const json::value& it : list_in(answer, "workers")) {
    table.add({text_in(it, "name"), text_in(it, "state"), cpus_text(it), memory_text(it), accelerators_text(it),
               seen_text(it, now_ms), text_in(it, "version"), text_in(it, "fleet"),
               pairs_text(object_in(it, "labels"))});
    if (const std::string why = text_in(it, "quarantine"); !why.empty()) {
      apart += fmt::format(
          "\nworker '{0}' is quarantined and gets no items: {1}\n"
          "  after fixing it: drover workers readmit {0}\n",
          text_in(it, "name"), why);
    }
    apart += device_notes(it);
  }
  if (const auto fleets = client.get("/api/v1/fleets")) {  // the key may not read them
    for (const ComingMachine& it : coming_machines(*fleets)) {
      table.add({it.name, it.state, cpus_text(it.told), memory_text(it.told), accelerators_text(it.told), "-", "",
                 it.fleet, fmt::format("shape={}", it.shape)});
    }
  }
  table.print();
  print_text(stdout, apart);
}

Result<int> change_worker(ServerClient& client, const WorkersFlags& flags, std::string_view how,
                          std::string_view done) {
  auto answer = client.post(fmt::format("/api/v1/workers/{}/{}", url_escape(flags.worker), how), json::object{});
  if (!answer) return pass(answer);
  return tell(flags.common, *answer, fmt::format("worker '{}' {}", flags.worker, done));
}

}  // namespace

void add_workers(const Verb& app, Invocation& invocation) {
  auto flags = std::make_shared<WorkersFlags>();
  Verb verb =
      add_server_verb(app, "workers", "List a server's workers", "drover workers\n  drover workers drain gpu-7", *flags,
                      invocation, [flags](ServerClient& client) {
                        return show_answer(client, *flags, "/api/v1/workers",
                                           [&client](const json::value& answer) { print_list(client, answer); });
                      });
  verb.require_subcommand(0, 1);
  const auto add = [&](const char* name, const char* help, const char* done) {
    add_server_verb(verb, name, help, fmt::format("drover workers {} gpu-7", name), *flags, invocation,
                    [flags, name, done](ServerClient& client) { return change_worker(client, *flags, name, done); })
        .add_option("worker", flags->worker, "Name of the worker")
        .type_name("WORKER")
        .required();
  };
  add("drain", "Give a worker no more items; it exits when its running items have ended",
      "takes no new items and exits when its running items have ended");
  add("fence", "Reassign a worker's items to other workers immediately; for an unresponsive or faulty worker",
      "is fenced; its items are reassigned to other workers");
  add("readmit", "Let a worker in quarantine receive items again", "gets items again");
}

}  // namespace drover
