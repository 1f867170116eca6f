// What everything of one slot shares, on the daemon's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "ports/runner.h"
#include "run/docker/container_body.h"
#include "run/docker/docker_daemon.h"
#include "run/docker/docker_image.h"
#include "run/docker/oom_watch.h"
#include "run/docker/slot_events.h"
#include "run/docker/usage_cgroup.h"

namespace drover {

/// The slot's containers are counted from before they are asked for until they are gone.
class SlotPlace : public std::enable_shared_from_this<SlotPlace> {
 public:
  using Reply = DockerDaemon::Reply;

  SlotPlace(DockerDaemon& daemon_of, std::shared_ptr<OomWatch> oom_watch_of, SlotSetup setup_of, DockerImage image_of,
            std::string number_of)
      : daemon(daemon_of),
        oom_watch(std::move(oom_watch_of)),
        setup(std::move(setup_of)),
        image(std::move(image_of)),
        number(std::move(number_of)),
        usage(daemon.facts(), number) {}

  /// `reply` gets the container's id, or why there is none.
  void create(const boost::json::object& container, std::function<void(Result<std::string>)> reply);
  /// Whatever it does. What cannot be removed now is tried again, and in the end left to a later runner.
  void remove(const std::string& id);
  /// Calls back when no container is left.
  void when_empty(std::function<void()> then);

  /// Whether a process of the container was killed for want of memory; `said` is what the daemon says of it.
  bool had_oom_kill(const std::string& id, const boost::json::value& said) const;
  /// Whether that may only not have been heard yet: it and an end come by two ways, and either can be first.
  bool may_be_oom_kill(int exit_code, bool was_stopped) const;

  /// "GET", "/containers/ID/json".
  void ask(std::string method, std::string_view path, std::string what, Reply reply);
  void ask(std::string method, std::string_view path, const boost::json::object& body, std::string what, Reply reply);

  DaemonPlace container_place() const;

  DockerDaemon& daemon;
  const std::shared_ptr<OomWatch> oom_watch;
  const SlotSetup setup;
  const DockerImage image;
  const std::string number;
  SlotEvents events;
  UsageCgroup usage;

 private:
  void try_to_remove(const std::string& id, int tries_left);
  void gone();

  std::size_t containers_ = 0;
  std::uint64_t named_ = 0;
  std::function<void()> then_;
};

}  // namespace drover
