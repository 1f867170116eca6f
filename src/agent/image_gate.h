// Which jobs of a worker wait for a container image, and how long an image that could not be fetched is left alone.
// As pure as the agent it speaks to: it is told how fetches went and what time it is.
//
// A failure that may pass, such as a registry that does not answer, is nobody's fault: the items go back without a
// trace, and until a pause is over the worker asks for nothing more of the jobs that need the image. The pause doubles
// with each failure. A failure that lasts, such as an image that does not exist, stops the job.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/random.h"

namespace drover {

/// Why an image could not be fetched.
struct FetchFailure {
  enum class Kind : std::uint8_t {
    passing,  // it may go better later, or on another machine
    lasting,  // no machine can have it
  };
  Kind kind = Kind::passing;
  std::string reason;               // for people
  std::int64_t retry_after_ms = 0;  // the registry asked not to be called before; 0: it did not
};

class ImageGate {
 public:
  static constexpr std::int64_t kFirstPauseMs = 2'000;
  static constexpr std::int64_t kLongestPauseMs = 300'000;

  /// `seed` spreads the pauses of many workers.
  ImageGate(Agent& agent, std::uint64_t seed) : agent_(agent), random_(seed) {}

  enum class Want : std::uint8_t {
    fetch,    // begin to fetch its image; on_fetched() or on_failed() is to follow
    waits,    // that is under way already
    declined  // its image is left alone for now, and what came of the job goes back
  };
  /// Something of the job has come, or is about to. Nothing of it is started until its image is here.
  Want want(JobId job, const std::string& image, std::int64_t now_ms);
  /// Its image is here: what waits for it may start.
  void on_fetched(JobId job, std::int64_t now_ms);
  void on_failed(JobId job, const FetchFailure& failure, std::int64_t now_ms);
  /// Its image is not waited for any more.
  void forget(JobId job) { waiting_.erase(job); }
  bool waits(JobId job) const { return waiting_.contains(job); }
  /// Pauses end when their time has come. Returns the jobs of which nothing waits any more: they are forgotten, and
  /// nobody needs their fetch.
  std::vector<JobId> on_tick(std::int64_t now_ms);
  /// When a pause ends.
  std::optional<std::int64_t> next_deadline() const;

 private:
  struct Pause {
    std::uint32_t failures = 0;  // one after another
    std::int64_t until_ms = 0;
    std::string reason;
    std::set<JobId> declined;  // until then
  };

  std::int64_t pause_ms(const Pause& pause, const FetchFailure& failure);
  void decline(JobId job, Pause& pause, std::int64_t now_ms);

  Agent& agent_;
  Random random_;
  std::map<JobId, std::string> waiting_;  // for which image
  std::map<std::string, Pause> pauses_;   // of images that failed lately
};

}  // namespace drover
