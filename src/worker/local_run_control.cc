// What other programs ask of a run over its control socket.
#include <unistd.h>

#include <boost/json.hpp>

#include "base/text.h"
#include "ports/reopen_page.h"
#include "wire/base64.h"
#include "worker/local_run.h"

namespace drover {
namespace json = boost::json;

void LocalRun::on_control(const json::object& request, const ControlServer::Answer& answer) {
  const json::value* verb = request.if_contains("verb");
  const std::string name = verb != nullptr && verb->is_string() ? std::string(verb->get_string()) : "";
  if (name == "status") return answer_status(answer);
  if (name == "log") return answer_log(request, answer);
  if (name == "retry") return answer_retry(answer);
  if (name == "cancel") return change_job(CancelJob{job_.id, "cancelled by the user"}, {}, answer);
  answer({{"ok", false}, {"error", concat("unknown verb '", name, "'")}});
}

void LocalRun::answer_status(const ControlServer::Answer& answer) {
  json::array running;
  for (const RunningNow& it : agent_.running()) {
    running.push_back(json::object{{"item", it.item.token.item.value},
                                   {"attempt", it.item.attempt.value},
                                   {"slot", it.slot},
                                   {"since_ms", it.since_ms},
                                   {"seconds", static_cast<double>(now_ms() - it.since_ms) / 1e3}});
  }
  // Ended, and not yet in the ledger.
  json::array ended;
  const auto add = [&](ItemIndex item, AttemptNumber attempt) {
    ended.push_back(json::object{{"item", item.value}, {"attempt", attempt.value}});
  };
  for (const auto& [token, attempt] : attempts_) add(token.item, attempt);
  for (const auto& [number, keys] : in_report_) {
    for (const LogKey& key : keys) add(key.item, key.attempt);
  }
  answer({{"ok", true},
          {"pid", getpid()},
          {"draining", agent_.draining()},
          {"running", std::move(running)},
          {"unrecorded", std::move(ended)},
          {"first_segment", logs_->first_segment()}});
}

// Somebody reads the log of what runs: where it is by now, and for a whole run only that all of it can be read.
void LocalRun::answer_log(const json::object& request, const ControlServer::Answer& answer) {
  const json::value* wanted = request.if_contains("item");
  LogKey key{job_.id, {}, {}};
  if (wanted != nullptr && wanted->is_number()) {
    key.item = ItemIndex{wanted->to_number<std::uint64_t>()};
    for (const auto& [token, attempt] : attempts_) {
      if (token.item == key.item) key.attempt = std::max(key.attempt, attempt);
    }
    for (const auto& [number, keys] : in_report_) {
      for (const LogKey& it : keys) {
        if (it.item == key.item) key.attempt = std::max(key.attempt, it.attempt);
      }
    }
  }
  ++unanswered_;
  logs_->show(key, [this, key, answer](const Result<Bytes>& place) {
    loop_->post([this, key, answer, place] {
      --unanswered_;
      if (!place) return answer({{"ok", false}, {"error", place.error().message}});
      answer({{"ok", true}, {"attempt", key.attempt.value}, {"extents", base64(place->value)}});
    });
  });
}

void LocalRun::answer_retry(const ControlServer::Answer& answer) {
  const auto refuse = [&](const Error& error) { answer({{"ok", false}, {"error", error.message}}); };
  auto command = begin_reopening(reader_, job_, {});
  if (!command) return refuse(command.error());
  change_job(std::move(*command), {{"items", job_.failed + job_.cancelled}}, answer);
}

// Asks the engine, and answers when it has. Until then the run goes on.
void LocalRun::change_job(Command command, json::object details, const ControlServer::Answer& answer) {
  ++unanswered_;
  engine_->post(std::move(command), [this, details = std::move(details), answer](Result<Effect> effect) {
    loop_->post([this, details, answer, effect = std::move(effect)]() mutable {
      --unanswered_;
      details["ok"] = effect.has_value();
      if (!effect) details["error"] = effect.error().message;
      answer(std::move(details));
    });
  });
}

}  // namespace drover
