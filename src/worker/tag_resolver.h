// Tags are looked up on a few threads, so that nobody else waits for a registry. Those who ask for the same tag while
// it waits for its turn get one answer, and a registry that is away is not asked again at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "ports/image_resolver.h"

namespace drover {

class TagResolver final : public ImageResolver {
 public:
  /// Asks the registry, and gives up when told to.
  using LookUp = std::function<Result<std::string>(const std::string& image, const std::stop_token& stop)>;

  explicit TagResolver(LookUp look_up);
  ~TagResolver() override { stop(); }
  TagResolver(const TagResolver&) = delete;
  TagResolver& operator=(const TagResolver&) = delete;

  void resolve(const std::string& image, Resolved resolved) override;
  /// Whoever is not answered yet is not answered.
  void stop() override;

 private:
  struct Ask {
    std::string image;
    std::chrono::steady_clock::time_point since;
    std::vector<Resolved> waiting;
  };

  /// A registry that was asked in vain, and until when nobody is kept waiting for it.
  struct Failure {
    Error error;
    std::chrono::steady_clock::time_point until;
  };

  void run(const std::stop_token& stop);
  void note(const std::string& image, const Result<std::string>& found);

  const LookUp look_up_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any wakes_;
  std::deque<Ask> asks_;
  std::map<std::string, Failure> failures_;  // by image
  bool is_stopped_ = false;
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace drover
