#include "run/docker/docker_slot.h"

#include <chrono>
#include <future>

#include "run/docker/slot_work.h"

namespace drover {
namespace {

// How long a daemon may take to remove what the slot ran.
constexpr std::chrono::seconds kPatience{20};

}  // namespace

DockerSlot::DockerSlot(std::shared_ptr<DockerDaemon> daemon, std::shared_ptr<OomWatch> oom_watch,
                       const SlotSetup& setup, DockerImage image, std::string number)
    : daemon_(std::move(daemon)),
      place_(std::make_shared<SlotPlace>(*daemon_, std::move(oom_watch), setup, std::move(image), std::move(number))),
      work_(std::make_shared<SlotWork>(place_)) {}

DockerSlot::~DockerSlot() {
  auto closed = std::make_shared<std::promise<void>>();
  std::future<void> wait = closed->get_future();
  daemon_->loop().post([work = work_, closed] { work->close([closed] { closed->set_value(); }); });
  wait.wait_for(kPatience);
}

int DockerSlot::descriptor() const {
  return place_->events.descriptor();
}

void DockerSlot::start(const Task& task) {
  daemon_->loop().post([work = work_, task] { work->start(task); });
}

void DockerSlot::stop(Token token, StopHow how, std::int64_t ran_ms) {
  daemon_->loop().post([work = work_, token, how, ran_ms] { work->stop(token, how, ran_ms); });
}

void DockerSlot::recall() {
  daemon_->loop().post([work = work_] { work->recall(); });
}

std::vector<SlotEvent> DockerSlot::events() {
  SlotEvents::Taken taken = place_->events.take();
  if (taken.somebody_waits) daemon_->loop().post([work = work_] { work->heard(); });
  return std::move(taken.events);
}

}  // namespace drover
