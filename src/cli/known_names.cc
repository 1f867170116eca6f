#include "cli/known_names.h"

#include <boost/json.hpp>

#include "base/name.h"
#include "cli/server_client.h"
#include "store/run_folder.h"

namespace drover {
namespace json = boost::json;
namespace {

// The user has pressed a key and waits.
constexpr std::int64_t kNamesMs = 1'000;

json::value ask(const CommonFlags& common, const ServerFlags& server, const std::string& path) {
  auto client = ServerClient::connect(common, server);
  if (!client) return nullptr;
  return client->get_soon(path, kNamesMs).value_or(json::value(nullptr));
}

std::string name_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

/// The names in a list of objects, each once, in its order. Anything else could mean something to the shell.
std::vector<Candidate> names_in(const json::value& answer, std::string_view list, std::string_view help) {
  std::vector<Candidate> out;
  const json::value* array = answer.is_object() ? answer.get_object().if_contains(list) : nullptr;
  if (array == nullptr || !array->is_array()) return out;
  for (const json::value& one : array->get_array()) {
    if (!one.is_object()) continue;
    const std::string name = name_in(one.get_object(), "name");
    if (!is_valid_name(name) || std::ranges::find(out, name, &Candidate::word) != out.end()) continue;
    const std::string about = name_in(one.get_object(), help);
    out.push_back({name, is_valid_name(about) ? about : ""});
  }
  return out;
}

}  // namespace

std::vector<Candidate> known_names(ValueKind kind, const SaidBefore& said) {
  const CommonFlags common{.data = said.data};
  const ServerFlags server{.server = said.server};
  if (kind == ValueKind::worker) return names_in(ask(common, server, "/api/v1/workers"), "workers", "state");
  if (kind == ValueKind::queue) return names_in(ask(common, server, "/api/v1/queues"), "queues", "order");
  if (kind == ValueKind::definition) {
    return names_in(ask(common, server, "/api/v1/definitions"), "definitions", "owner");
  }
  if (kind == ValueKind::fleet) return names_in(ask(common, server, "/api/v1/fleets"), "fleets", "provider");
  if (kind == ValueKind::stream) return names_in(ask(common, server, "/api/v1/streams"), "streams", "owner");
  std::vector<Candidate> out = names_in(ask(common, server, "/api/v1/jobs?limit=100"), "jobs", "state");
  if (kind == ValueKind::job || names_server(server)) return out;
  for (const std::string& name : RunFolder::all(data_root(said.data))) out.push_back({name, "run"});
  return out;
}

}  // namespace drover
