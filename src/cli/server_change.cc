// drover cancel and drover retry, of a server's job.
#include <fmt/format.h>

#include <boost/json.hpp>

#include "base/units.h"
#include "cli/answer.h"
#include "cli/server_job.h"
#include "cli/server_verbs.h"

namespace drover {
namespace json = boost::json;

Result<int> server_cancel(const CommonFlags& common, const ServerFlags& server, const std::string& job) {
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  auto which = whole_job(*client, job);
  if (!which) return pass(which);
  auto answer = client->post(job_path(*which, "/cancel"), json::object());
  if (!answer) return pass(answer);
  return tell(common, *answer,
              fmt::format("job '{}' {}", text_in(*answer, "name"),
                          flag_in(*answer, "cancelled") ? "is cancelled" : "had already ended"));
}

Result<int> server_retry(const CommonFlags& common, const ServerFlags& server, const ServerRetry& wanted) {
  if (!wanted.memory.empty() && !parse_size(wanted.memory)) {
    return fail(ErrorCode::bad_input, fmt::format("--memory '{}' is not a valid size", wanted.memory),
                "use a number with a unit, such as 512MiB or 4GiB");
  }
  auto client = ServerClient::connect(common, server);
  if (!client) return pass(client);
  auto which = job_and_item(*client, wanted.reference);
  if (!which) return pass(which);
  json::object body;
  json::array items(wanted.items.begin(), wanted.items.end());
  if (!which->item.empty()) items.emplace_back(*parse_number(which->item));
  if (!items.empty()) body["items"] = std::move(items);
  if (wanted.exit_code) body["exit_code"] = *wanted.exit_code;
  if (wanted.signal) body["signal"] = *wanted.signal;
  if (!wanted.ending.empty()) body["ending"] = wanted.ending;
  if (wanted.cpus > 0) body["cpus"] = wanted.cpus;
  if (!wanted.memory.empty()) body["memory"] = wanted.memory;
  if (wanted.gpus) body["gpus"] = *wanted.gpus;
  auto answer = client->post(job_path(which->job, "/retry"), body);
  if (!answer) return pass(answer);
  const auto again = number_in(*answer, "items");
  std::string sentence = fmt::format("job '{}': {} will run again", text_in(*answer, "name"), plural(again, "item"));
  if (again == 0 && !common.json) {
    // What was never begun needs no retry: it goes on by itself.
    auto job = client->get(job_path(text_in(*answer, "id")));
    if (!job) return pass(job);
    const json::value counts = object_in(*job, "counts");
    const auto left = number_in(counts, "pending") + number_in(counts, "waiting") + number_in(counts, "running");
    sentence = left > 0 ? fmt::format("job '{}' continues: {} left", text_in(*answer, "name"), plural(left, "item"))
                        : fmt::format("job '{}': no failed items match; nothing to retry", text_in(*answer, "name"));
  }
  return tell(common, *answer, sentence);
}

}  // namespace drover
