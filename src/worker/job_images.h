// Fetches the images of a worker's jobs. Which jobs wait, and when an image that did not come is tried again, is the
// gate's to decide (agent/image_gate.h); this begins the fetches and tells how they get on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agent/agent.h"
#include "agent/image_gate.h"
#include "base/container.h"
#include "worker/images.h"

namespace drover {

class JobImages {
 public:
  /// Brings an image here in the background, and tells how that went on the loop. Given up when the wish is dropped.
  using Fetch = std::function<std::shared_ptr<ImageWish>(const ContainerOptions& options, Images::Got got)>;
  /// The image is here: what is to be known of the job for its items to run. They are started after this.
  using Ready = std::function<void(JobId job, std::shared_ptr<const ContainerPlan> plan)>;
  using Notice = std::function<void(const std::string&)>;
  /// Epoch milliseconds that never go back.
  using Now = std::function<std::int64_t()>;

  /// `agent` is told which jobs to leave aside, and how their images get on. A fetch may outlive this only if its loop
  /// does not call back any more. `seed` spreads the pauses of many workers.
  JobImages(Agent& agent, std::uint64_t seed, Fetch fetch, Ready ready, Notice notice, Now now_ms)
      : agent_(agent),
        gate_(agent, seed),
        fetch_(std::move(fetch)),
        ready_(std::move(ready)),
        notice_(std::move(notice)),
        now_ms_(std::move(now_ms)) {}

  /// Nothing of the job is started until its image is here. One that is waited for already is not asked for twice; one
  /// that failed lately is not asked for, and what came of the job goes back.
  void want(JobId job, const ContainerOptions& options);
  /// Nobody needs to hear of it any more.
  void forget(JobId job);
  /// How an image gets on, in words.
  void on_progress(const std::string& image, const std::string& words);
  /// What is to be tried again, or told, is when its time has come. A job of which nothing waits any more is forgotten.
  void on_tick();

 private:
  struct Fetching {
    std::string image;
    std::string untold = {};  // how it gets on
    std::int64_t told_ms = 0;
    std::shared_ptr<ImageWish> wish = {};
  };

  /// The server hears of it now and then, and of the last word always.
  void tell_progress(JobId job, Fetching& fetching);
  void on_fetched(JobId job, ImageResult<std::shared_ptr<const ContainerPlan>> got);

  Agent& agent_;
  ImageGate gate_;
  const Fetch fetch_;
  const Ready ready_;
  const Notice notice_;
  const Now now_ms_;
  std::map<JobId, Fetching> fetches_;
};

}  // namespace drover
