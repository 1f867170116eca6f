#include "api/sqs/batch_request.h"

#include <set>

#include "api/sqs/plain_name.h"
#include "api/sqs/sqs_fault.h"

namespace drover::aws {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostEntries = 10;
}  // namespace

std::expected<std::span<const json::value>, Fault> batch_entries(const Call& call) {
  const json::array& entries = call.input.at("Entries").get_array();
  if (entries.empty()) {
    return refused(SqsError::empty_batch,
                   concat("There should be at least one ", call.operation->name, "RequestEntry in the request."));
  }
  if (entries.size() > kMostEntries) {
    return refused(SqsError::too_many_entries, concat("Maximum number of entries per request are ", kMostEntries,
                                                      ". You have sent ", entries.size(), "."));
  }
  std::set<std::string_view> ids;
  for (const json::value& it : entries) {
    const std::string_view id = it.get_object().at("Id").get_string();
    if (!is_plain_name(id)) {
      return refused(SqsError::bad_entry_id,
                     "A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at "
                     "most 80 letters long.");
    }
    if (!ids.insert(id).second) return refused(SqsError::ids_not_distinct, concat("Id ", id, " repeated."));
  }
  return std::span(entries.data(), entries.size());
}

void BatchOutcome::fail(const json::object& entry, const Fault& fault) {
  failed_.push_back(json::object{{"Id", entry.at("Id")},
                                 {"SenderFault", fault.status < 500},
                                 {"Code", fault.query_code.empty() ? fault.code : fault.query_code},
                                 {"Message", fault.message}});
}

json::object BatchOutcome::output() && {
  json::object out;
  if (!successful_.empty()) out["Successful"] = std::move(successful_);
  if (!failed_.empty()) out["Failed"] = std::move(failed_);
  return out;
}

}  // namespace drover::aws
