// Workers: who is there, and what becomes of them.
#include "api/json_reply.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "wire/views.h"

namespace drover {
namespace json = boost::json;
namespace {

/// null: nobody said how much.
json::value unless_endless(std::uint64_t amount, const json::value& shown) {
  return amount == Resources::kEndless ? json::value(nullptr) : shown;
}

json::object device_json(const DeviceState& it, const std::optional<Job>& job) {
  const auto if_measured = [&](std::int64_t value) {
    return it.is_measured ? json::value(value) : json::value(nullptr);
  };
  return {{"id", utf8(it.id)},
          {"index", it.index},
          {"job", job ? json::value(job->uuid.text()) : json::value(nullptr)},
          {"job_name", job ? json::value(utf8(job->name)) : json::value(nullptr)},
          {"item", job ? json::value(it.item.value) : json::value(nullptr)},
          {"failure", it.failure.empty() ? json::value(nullptr) : json::value(utf8(it.failure))},
          {"busy_percent", if_measured(it.busy_percent)},
          {"memory_kib", if_measured(it.memory_kib)},
          {"memory_total_kib", if_measured(it.memory_total_kib)},
          {"idle_ms", if_measured(it.idle_ms)}};
}

json::object worker_json(Backend& backend, const WorkerView& it) {
  const Resources& has = it.worker.has;
  json::object accelerators;
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    accelerators[kAcceleratorNames[kind]] = unless_endless(has.accelerators[kind], has.accelerators[kind]);
  }
  json::array devices;
  for (const DeviceState& device : it.devices) {
    devices.push_back(device_json(device, device.job ? backend.find_job(device.job) : std::nullopt));
  }
  return {
      {"name", utf8(it.worker.name)},
      {"id", it.worker.id.value},
      {"state", state_of(it)},
      {"registered_ms", it.worker.registered_ms},
      {"seen_ms", it.seen_ms == 0 ? json::value(nullptr) : json::value(it.seen_ms)},
      {"version", utf8(it.version)},
      {"cpus", unless_endless(has.milli_cpus, static_cast<double>(has.milli_cpus) / 1000)},
      {"memory_bytes", unless_endless(has.memory_bytes, has.memory_bytes)},
      {"accelerators", std::move(accelerators)},
      {"devices", std::move(devices)},
      {"labels", labels_json(it.worker.labels)},
      {"fleet", it.worker.fleet.empty() ? json::value(nullptr) : json::value(utf8(it.worker.fleet))},
      {"quarantine", it.worker.quarantine.empty() ? json::value(nullptr) : json::value(utf8(it.worker.quarantine))}};
}

}  // namespace

void NativeApi::list_workers(Asked /*asked*/, HttpReply reply) {
  auto workers = backend_.workers();
  if (!workers) return reply.send(problem(workers.error()));
  json::array out;
  for (const WorkerView& it : *workers) out.push_back(worker_json(backend_, it));
  reply.send(json_response(200, json::object{{"workers", std::move(out)}}));
}

void NativeApi::show_worker(Asked asked, HttpReply reply) {
  auto workers = backend_.workers();
  if (!workers) return reply.send(problem(workers.error()));
  for (const WorkerView& it : *workers) {
    if (it.worker.name == asked.parts[0]) return reply.send(json_response(200, worker_json(backend_, it)));
  }
  reply.send(problem({ErrorCode::not_found, concat("worker '", utf8(asked.parts[0]), "' not found"),
                      "list workers with 'drover workers'"}));
}

void NativeApi::readmit_worker(Asked asked, HttpReply reply) {
  answer_done(Readmit{asked.parts[0]}, json::object{{"name", utf8(asked.parts[0])}}, std::move(reply));
}

void NativeApi::drain_worker(Asked asked, HttpReply reply) {
  send_away(asked.parts[0], AskToDrain{asked.parts[0]}, std::move(reply));
}

void NativeApi::fence_worker(Asked asked, HttpReply reply) {
  send_away(asked.parts[0], Fence{asked.parts[0]}, std::move(reply));
}

void NativeApi::send_away(const std::string& name, Command command, HttpReply reply) {
  backend_.post(std::move(command),
                [name, reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
                  if (!effect) return reply->send(problem(effect.error()));
                  reply->send(json_response(
                      200, json::object{{"name", utf8(name)}, {"leases", std::get<WorkerToBeGone>(*effect).grants}}));
                });
}

}  // namespace drover
