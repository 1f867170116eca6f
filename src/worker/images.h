// The images that jobs of this worker run in: fetched in the background, each once, while other items run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/container.h"
#include "ports/container.h"
#include "run/image/image_store.h"
#include "worker/machine_runner.h"

namespace drover {

/// Which image a container's options mean: the one that was meant when the job was submitted, if that is known.
Result<ImageReference> image_of(const ContainerOptions& options);

/// Where images come to lie on this machine, and how they get there.
class ImagePlace {
 public:
  /// `folder` need not be there yet. `runner` is asked where Docker is the runtime: then images are the daemon's.
  ImagePlace(std::string folder, ImageAccess access, const ImageLimits& limits, MachineRunner& runner)
      : folder_(std::move(folder)), access_(std::move(access)), limits_(limits), runner_(runner) {}

  using Tell = std::function<void(const std::string& words)>;
  /// Blocks until it is there, saying how it goes: "fetching, 12 of 80 MB". From any thread.
  ImageResult<std::shared_ptr<const ContainerPlan>> fetch(const ContainerOptions& options, const Tell& tell,
                                                          const std::stop_token& stop = {});
  /// What the limits do not keep goes. From any thread.
  void tidy();

 private:
  ImageResult<ImageStore*> store();
  ImageResult<std::shared_ptr<const ContainerPlan>> fetch_for_docker(const ContainerOptions& options, const Tell& tell);

  const std::string folder_;
  const ImageAccess access_;
  const ImageLimits limits_;
  MachineRunner& runner_;
  std::mutex mutex_;  // guards what follows
  std::unique_ptr<ImageStore> store_;
};

class Images {
 public:
  /// Runs something on the worker's loop.
  using Post = std::function<void(std::function<void()>)>;
  using Got = std::function<void(ImageResult<std::shared_ptr<const ContainerPlan>>)>;
  /// An image that is being fetched, in words.
  using Progress = std::function<void(const std::string& image, const std::string& words)>;

  /// A few threads fetch: a registry that hangs holds up its own images, not those of others.
  Images(std::unique_ptr<ImagePlace> place, Post post, Progress progress);
  /// What is being fetched is given up.
  ~Images();
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  /// Tells when it is here, or why it is not; on the loop. What is there and nobody uses is looked through once an
  /// hour.
  void want(ContainerOptions options, Got got);

 private:
  struct Wanted {
    ContainerOptions options;
    Got got;
  };

  void run(const std::stop_token& stop);
  ImageResult<std::shared_ptr<const ContainerPlan>> fetch(const ContainerOptions& options, const std::stop_token& stop);

  const std::unique_ptr<ImagePlace> place_;
  const Post post_;
  const Progress progress_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable_any wakes_;
  std::deque<Wanted> wanted_;
  std::chrono::steady_clock::time_point tidy_at_ = std::chrono::steady_clock::now();
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace drover
