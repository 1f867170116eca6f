#include "run/docker/slot_place.h"

#include <boost/json/serialize.hpp>
#include <chrono>

#include "base/text.h"
#include "host/owner.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr int kKilled = 137;  // as Docker tells SIGKILL
constexpr int kRemoveTries = 5;
constexpr std::chrono::milliseconds kRemoveWait{500};

}  // namespace

DaemonPlace SlotPlace::container_place() const {
  return {image.id, this_process().name(), number, usage.name()};
}

void SlotPlace::ask(std::string method, std::string_view path, std::string what, Reply reply) {
  daemon.ask(daemon.request(std::move(method), path), std::move(what), std::move(reply));
}

void SlotPlace::ask(std::string method, std::string_view path, const json::object& body, std::string what,
                    Reply reply) {
  daemon.ask(daemon.request(std::move(method), path, json::serialize(body)), std::move(what), std::move(reply));
}

void SlotPlace::create(const json::object& container, std::function<void(Result<std::string>)> reply) {
  ++containers_;
  ask("POST", concat("/containers/create?name=drover-", this_process().name(), "-", number, "-", ++named_), container,
      "could not create a container", [self = shared_from_this(), reply = std::move(reply)](Result<json::value> made) {
        if (made) return reply(text_at(*made, {"Id"}));
        self->gone();
        if (made.error().message.find("storage-opt") != std::string::npos) {
          made.error().message = concat("this Docker daemon cannot limit an item's disk usage: ", made.error().message);
        }
        reply(pass(made));
      });
}

bool SlotPlace::had_oom_kill(const std::string& id, const json::value& said) const {
  return truth_at(said, {"State", "OOMKilled"}) || oom_watch->has_seen(id);
}

bool SlotPlace::may_be_oom_kill(int exit_code, bool was_stopped) const {
  return exit_code == kKilled && !was_stopped && setup.limits.memory_bytes > 0;
}

void SlotPlace::remove(const std::string& id) {
  oom_watch->forget(id);
  try_to_remove(id, kRemoveTries);
}

void SlotPlace::try_to_remove(const std::string& id, int tries_left) {
  ask("DELETE", concat("/containers/", id, "?force=1&v=1"), "could not remove a container",
      [self = shared_from_this(), id, tries_left](const Result<json::value>& removed) {
        const bool is_gone = removed || removed.error().code == ErrorCode::not_found;
        const bool is_hopeless = tries_left == 0 || (!removed && removed.error().code == ErrorCode::unreachable);
        if (is_gone || is_hopeless) return self->gone();
        self->daemon.loop().after(kRemoveWait, [self, id, tries_left] { self->try_to_remove(id, tries_left - 1); });
      });
}

void SlotPlace::gone() {
  --containers_;
  if (containers_ == 0 && then_) std::exchange(then_, {})();
}

void SlotPlace::when_empty(std::function<void()> then) {
  if (containers_ == 0) return then();
  then_ = std::move(then);
}

}  // namespace drover
