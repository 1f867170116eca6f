#include "wire/views.h"

#include <boost/json.hpp>

#include "base/text.h"
#include "base/utf8.h"
#include "wire/base64.h"
#include "wire/job_fields.h"

namespace drover {
namespace json = boost::json;
namespace {

json::value text_or_null(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(utf8(text));
}

template <class T>
json::value or_null(const std::optional<T>& value) {
  return value ? json::value(*value) : json::value(nullptr);
}

}  // namespace

json::object labels_json(const Labels& labels) {
  json::object out;
  for (const auto& [name, value] : labels) out[name] = value;
  return out;
}

namespace {

json::object resources_json(const Resources& ask) {
  json::object accelerators;
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    if (ask.accelerators[kind] > 0) accelerators[kAcceleratorNames[kind]] = ask.accelerators[kind];
  }
  return {{"cpus", static_cast<double>(ask.milli_cpus) / 1000},
          {"memory_bytes", ask.memory_bytes},
          {"accelerators", std::move(accelerators)}};
}

}  // namespace

json::object job_to_json(const Job& job, const ItemCounts& counts) {
  json::object out = {{"id", job.uuid.text()},
                      {"name", job.name},
                      {"state", to_string(job.state)},
                      {"total", job.total},
                      {"counts", json::object{{"pending", counts.pending},
                                              {"waiting", counts.waiting},
                                              {"running", counts.running},
                                              {"succeeded", counts.succeeded},
                                              {"failed", counts.failed},
                                              {"cancelled", counts.cancelled}}},
                      {"reason", text_or_null(job.reason)},
                      {"created_ms", job.created_ms},
                      {"ended_ms", job.ended_ms == 0 ? json::value(nullptr) : json::value(job.ended_ms)},
                      {"started_ms", job.started_ms == 0 ? json::value(nullptr) : json::value(job.started_ms)},
                      {"owner", text_or_null(job.place.owner)},
                      {"definition_name", text_or_null(job.named_definition)},
                      {"asks", resources_json(job.ask)},
                      {"used", usage_to_json(job.used)}};
  for (const JobField& field : job_fields()) {
    if (field.stored.show != nullptr) out[shown_name(field)] = field.stored.show(field, job);
  }
  return out;
}

json::object event_to_json(const Event& event) {
  return {{"id", event.id.value},
          {"at_ms", event.at_ms},
          {"kind", to_string(event.kind)},
          {"job", text_or_null(event.job)},
          {"name", text_or_null(event.name)},
          {"detail", text_or_null(event.detail)}};
}

json::object usage_to_json(const JobUsage& used) {
  json::object out;
  JobUsage::fields(used, [&](const char* name, std::int64_t value) { out[name] = value; });
  return out;
}

json::object attempt_to_json(const Attempt& attempt) {
  return {{"attempt", attempt.attempt.value},
          {"state", to_string(attempt.state)},
          {"ending", to_string(attempt.ending)},
          {"exit_code", or_null(attempt.exit_code)},
          {"signal", or_null(attempt.signal)},
          {"reason", text_or_null(attempt.reason)},
          {"started_ms", attempt.started_ms},
          {"ended_ms", attempt.ended_ms},
          {"wall_us", attempt.wall_us},
          {"cpu_ms", (attempt.user_us + attempt.system_us + 500) / 1000},
          {"peak_memory_kib", attempt.peak_memory_kib},
          {"read_bytes", attempt.read_bytes},
          {"written_bytes", attempt.written_bytes},
          {"gpu_busy_us", attempt.gpu_busy_us},
          {"peak_gpu_memory_kib", attempt.peak_gpu_memory_kib},
          {"gpu_energy_mj", attempt.gpu_energy_mj},
          {"slot", attempt.slot},
          {"cost_microdollars", or_null(attempt.cost_microdollars)},
          {"on_demand_microdollars", or_null(attempt.on_demand_microdollars)},
          {"log_bytes", attempt.log.bytes},
          {"last_line", text_or_null(attempt.log.last_line)}};
}

void put_bytes(json::object& out, std::string_view name, std::string_view bytes) {
  if (utf8(bytes) == bytes) {
    out[name] = bytes;
  } else {
    out[concat(name, "_b64")] = base64(bytes);
  }
}

void put_item_text(json::object& out, std::string_view text) {
  put_bytes(out, "item", text);
}

}  // namespace drover
