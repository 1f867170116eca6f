#include "server/command_shapes.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "provide/command_provider.h"

namespace drover {
namespace {

constexpr std::chrono::minutes kPause{5};
constexpr std::chrono::seconds kPauseAfterFailure{10};

}  // namespace

CommandShapes::CommandShapes(std::string program, std::function<void()> changed)
    : program_(std::move(program)),
      changed_(std::move(changed)),
      shapes_(fail(ErrorCode::stopped, concat(program_, " has not answered yet"))),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Result<std::vector<OfferedShape>> CommandShapes::now() const {
  const std::scoped_lock lock(mutex_);
  return shapes_;
}

void CommandShapes::run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto said = command_shapes(program_, {}, stop);
    {
      const std::scoped_lock lock(mutex_);
      if (said) {
        std::vector<OfferedShape> shapes;
        for (const CommandShape& it : *said) {
          shapes.push_back({{it.name, it.has}, {it.microdollars, it.spot_microdollars}});
        }
        shapes_ = std::move(shapes);
      } else if (!shapes_) {
        shapes_ = std::unexpected(said.error());
      }
    }
    if (!stop.stop_requested()) changed_();
    std::unique_lock lock(mutex_);
    const auto pause = said ? std::chrono::milliseconds(kPause) : std::chrono::milliseconds(kPauseAfterFailure);
    wakes_.wait_for(lock, stop, pause, [] { return false; });
  }
}

}  // namespace drover
