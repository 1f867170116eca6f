#include "run/docker/docker_runner.h"

#include <atomic>
#include <boost/json/array.hpp>

#include "base/check.h"
#include "base/text.h"
#include "base/url.h"
#include "host/owner.h"
#include "run/docker/container_body.h"
#include "run/docker/docker_slot.h"
#include "run/docker/usage_cgroup.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr const char* kOwnerLabel = "drover.owner";

std::string next_slot_number() {
  static std::atomic<std::uint64_t> number = 0;
  return std::to_string(++number);
}

bool is_abandoned(const json::value& container) {
  const std::optional<Owner> owner = Owner::from_name(text_at(container, {"Labels", kOwnerLabel}));
  return owner && !owner->is_alive();
}

}  // namespace

Result<std::size_t> remove_abandoned_containers(DockerDaemon& daemon) {
  const std::string filter = concat(R"({"label":[")", kOwnerLabel, R"("]})");
  Result<json::value> list =
      daemon.ask_now(daemon.request("GET", concat("/containers/json?all=1&filters=", percent_encoded(filter))),
                     "could not list containers");
  if (!list) return pass(list);
  std::size_t removed = 0;
  if (!list->is_array()) return removed;
  for (const json::value& container : list->get_array()) {
    if (!is_abandoned(container)) continue;
    const Result<json::value> done = daemon.ask_now(
        daemon.request("DELETE", concat("/containers/", text_at(container, {"Id"}), "?force=1&v=1")), {});
    // Somebody else may be at the same work.
    if (done) ++removed;
  }
  return removed;
}

DockerRunner::DockerRunner(std::shared_ptr<DockerDaemon> daemon)
    : daemon_(std::move(daemon)), oom_watch_(std::make_shared<OomWatch>(*daemon_)) {
  oom_watch_->begin();
}

Result<std::unique_ptr<DockerRunner>> DockerRunner::connect(const std::string& host) {
  Result<std::shared_ptr<DockerDaemon>> daemon = DockerDaemon::connect(host);
  if (!daemon) return pass(daemon);
  if (Result<std::size_t> removed = remove_abandoned_containers(**daemon); !removed) return pass(removed);
  UsageCgroup::sweep();
  return std::unique_ptr<DockerRunner>(new DockerRunner(std::move(*daemon)));
}

Result<std::unique_ptr<Slot>> DockerRunner::open_slot(const SlotSetup& setup) {
  DROVER_CHECK(setup.container != nullptr, "a slot of Docker's is one of containers");
  if (const std::string why = why_not_possible(setup); !why.empty()) {
    return fail(ErrorCode::bad_input, why, "use crun or runc for this job");
  }
  const ContainerPlan& plan = *setup.container;
  ImageResult<DockerImage> image = find_image(*daemon_, plan.name, plan.options.digest);
  if (!image) return std::unexpected(image.error().error());
  return std::make_unique<DockerSlot>(daemon_, oom_watch_, setup, std::move(*image), next_slot_number());
}

ImageResult<DockerImage> DockerRunner::ensure_image(const ContainerPlan& plan, const PullOptions& options) {
  return drover::ensure_image(*daemon_, plan.name, plan.options.digest, options);
}

}  // namespace drover
