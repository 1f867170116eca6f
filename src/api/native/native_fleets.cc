// Fleets: how they scale, and the machines that they have.
#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include "api/json_reply.h"
#include "api/native/named.h"
#include "api/native/native.h"
#include "api/problem.h"
#include "base/text.h"
#include "wire/fleet_rules.h"

namespace drover {
namespace json = boost::json;
namespace {

json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(utf8(text));
}

json::value time_or_null(std::int64_t at_ms) {
  return at_ms == 0 ? json::value(nullptr) : json::value(at_ms);
}

json::object costs_json(const MachineCosts& costs) {
  return {{"billed_microdollars", costs.billed_microdollars},
          {"attempts_microdollars", costs.attempts_microdollars},
          {"idle_microdollars", costs.idle_microdollars()},
          {"on_demand_microdollars", costs.billed_on_demand_microdollars}};
}

json::object machine_json(const Machine& it, std::int64_t now_ms) {
  json::object accelerators;
  for (std::size_t kind = 0; kind < kAccelerators; ++kind) {
    accelerators[kAcceleratorNames[kind]] = it.has.accelerators[kind];
  }
  return {{"name", it.name},
          {"shape", it.shape},
          {"spot", it.spot},
          {"cpus", static_cast<double>(it.has.milli_cpus) / 1000},
          {"memory_bytes", it.has.memory_bytes},
          {"accelerators", std::move(accelerators)},
          {"state", to_string(it.state)},
          {"provider_id", text_or_null(it.provider_id)},
          {"reason", utf8(it.reason)},
          {"ending", text_or_null(it.ending)},
          {"requested_ms", it.requested_ms},
          {"joined_ms", time_or_null(it.joined_ms)},
          {"since_ms", it.since_ms},
          {"hourly_microdollars", it.has_price() ? json::value(it.price.microdollars) : json::value(nullptr)},
          {"billed_from_ms", time_or_null(it.billed_from_ms)},
          {"costs", it.has_price() ? json::value(costs_json(it.costs(now_ms))) : json::value(nullptr)}};
}

json::object rules_json(const std::string& fleet, const FleetRules& rules, const std::vector<std::string>& troubles) {
  json::object out = fleet_rules_to_json(rules);
  out["name"] = fleet;
  json::array provider_troubles;
  for (const std::string& trouble : troubles) provider_troubles.emplace_back(utf8(trouble));
  out["provider_troubles"] = std::move(provider_troubles);
  return out;
}

/// Of one with rules that this version cannot read, what is usual.
json::object fleet_json(const Fleet& it, const std::vector<Machine>& machines, Backend& backend, std::int64_t now_ms) {
  const auto rules = fleet_rules_from_json(it.text);
  json::object out = rules ? rules_json(it.name, *rules, backend.fleet_troubles(it.name, *rules))
                           : rules_json(it.name, {}, {concat("its settings cannot be used: ", rules.error().message)});
  out["created_ms"] = it.created_ms;
  out["paused"] = it.paused;
  out["deleting"] = it.deleting;
  out["failures"] = it.failures;
  out["trouble"] = text_or_null(it.trouble);
  out["retry_at_ms"] = time_or_null(it.not_before_ms);
  out["spot_failures"] = it.spot_failures;
  out["spot_trouble"] = text_or_null(it.spot_trouble);
  out["spot_retry_at_ms"] = time_or_null(it.spot_not_before_ms);
  const MachineCosts costs = costs_of(it, machines, now_ms);
  const bool has_prices = costs != MachineCosts{} || std::ranges::any_of(machines, [&](const Machine& machine) {
                            return machine.fleet == it.name && machine.has_price();
                          });
  out["costs"] = has_prices ? json::value(costs_json(costs)) : json::value(nullptr);
  json::array all;
  for (const Machine& machine : machines) {
    if (machine.fleet == it.name) all.push_back(machine_json(machine, now_ms));
  }
  out["machines"] = std::move(all);
  return out;
}

}  // namespace

void NativeApi::list_fleets(Asked /*asked*/, HttpReply reply) {
  auto all = backend_.ledger().fleets();
  if (!all) return reply.send(problem(all.error()));
  auto machines = backend_.ledger().machines();
  if (!machines) return reply.send(problem(machines.error()));
  std::map<std::string, std::vector<Machine>> by_fleet;
  for (Machine& it : *machines) by_fleet[it.fleet].push_back(std::move(it));
  json::array out;
  for (const Fleet& it : *all) {
    out.push_back(fleet_json(it, by_fleet[it.name], backend_, about_.now_ms()));
  }
  reply.send(json_response(200, json::object{{"fleets", std::move(out)}}));
}

void NativeApi::show_fleet(Asked asked, HttpReply reply) {
  auto all = backend_.ledger().fleets();
  if (!all) return reply.send(problem(all.error()));
  auto machines = backend_.ledger().machines();
  if (!machines) return reply.send(problem(machines.error()));
  for (const Fleet& it : *all) {
    if (it.name != asked.parts[0]) continue;
    return reply.send(json_response(200, fleet_json(it, *machines, backend_, about_.now_ms())));
  }
  reply.send(problem(no_such("fleet", asked.parts[0])));
}

void NativeApi::set_fleet(Asked asked, HttpReply reply) {
  if (auto valid = check_name("fleet", asked.parts[0]); !valid) return reply.send(problem(valid.error()));
  auto rules = fleet_rules_from_request(asked.request.body);
  if (!rules) return reply.send(problem(rules.error()));
  const std::string& name = asked.parts[0];
  answer_done(SetFleet{fleet_spec(name, *rules)}, rules_json(name, *rules, backend_.fleet_troubles(name, *rules)),
              std::move(reply));
}

void NativeApi::drop_fleet(Asked asked, HttpReply reply) {
  backend_.post(
      DropFleet{asked.parts[0]},
      [name = asked.parts[0], reply = std::make_shared<HttpReply>(std::move(reply))](const Result<Effect>& effect) {
        if (!effect) return reply->send(problem(effect.error()));
        const auto& dropped = std::get<FleetDropped>(*effect);
        reply->send(json_response(
            200, json::object{{"name", utf8(name)}, {"machines", dropped.machines}, {"deleted", dropped.is_gone}}));
      });
}

void NativeApi::pause_fleet(Asked asked, HttpReply reply) {
  answer_done(PauseFleet{asked.parts[0], true}, {{"name", utf8(asked.parts[0])}}, std::move(reply));
}

void NativeApi::resume_fleet(Asked asked, HttpReply reply) {
  answer_done(PauseFleet{asked.parts[0], false}, {{"name", utf8(asked.parts[0])}}, std::move(reply));
}

void NativeApi::explain_fleet(Asked asked, HttpReply reply) {
  auto lines = backend_.explain_fleet(asked.parts[0]);
  if (!lines) return reply.send(problem(lines.error()));
  json::array out;
  for (const std::string& line : *lines) out.emplace_back(utf8(line));
  reply.send(json_response(200, json::object{{"name", asked.parts[0]}, {"lines", std::move(out)}}));
}

}  // namespace drover
