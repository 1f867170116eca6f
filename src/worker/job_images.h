// The jobs of a worker whose image is not here yet. Their items wait while those of others run; an image that does not
// come is tried again, then its items go elsewhere; one that no machine can have stops its job.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "agent/agent.h"
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
  /// does not call back any more.
  JobImages(Agent& agent, Fetch fetch, Ready ready, Notice notice, Now now_ms)
      : agent_(agent),
        fetch_(std::move(fetch)),
        ready_(std::move(ready)),
        notice_(std::move(notice)),
        now_ms_(std::move(now_ms)) {}

  /// Nothing of the job is started until its image is here. One that is waited for already is not asked for twice.
  void want(JobId job, const ContainerOptions& options);
  /// Nobody needs to hear of it any more.
  void forget(JobId job) { waiting_.erase(job); }
  /// How an image gets on, in words.
  void on_progress(const std::string& image, const std::string& words);
  /// What is to be tried again, or told, is when its time has come. A job of which nothing waits any more is forgotten.
  void on_tick();

 private:
  struct Waiting {
    ContainerOptions options;
    std::uint32_t failed = 0;                      // fetches, one after another
    std::optional<std::int64_t> again_at_ms = {};  // it failed, and is not being fetched now
    std::string untold = {};                       // how it gets on
    std::int64_t told_ms = 0;
    std::shared_ptr<ImageWish> wish = {};  // while it is being fetched
  };

  void fetch(JobId job, Waiting& waiting);
  /// The server hears of it now and then, and of the last word always.
  void tell_progress(JobId job, Waiting& waiting);
  void on_fetched(JobId job, ImageResult<std::shared_ptr<const ContainerPlan>> got);

  Agent& agent_;
  const Fetch fetch_;
  const Ready ready_;
  const Notice notice_;
  const Now now_ms_;
  std::map<JobId, Waiting> waiting_;
};

}  // namespace drover
