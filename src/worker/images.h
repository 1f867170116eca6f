// The images that jobs of this worker run in: fetched in the background, each once, while other items run.
#pragma once

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

namespace drover {

/// Which image a container's options mean: the one that was meant when the job was submitted, if that is known.
Result<ImageReference> image_of(const ContainerOptions& options);

class Images {
 public:
  /// Runs something on the worker's loop.
  using Post = std::function<void(std::function<void()>)>;
  using Got = std::function<void(ImageResult<std::shared_ptr<const ContainerPlan>>)>;
  /// An image that is being fetched, in words: "fetching, 12 of 80 MB".
  using Progress = std::function<void(const std::string& image, const std::string& words)>;

  /// `folder` need not be there yet. One thread fetches, one image after another.
  Images(std::string folder, ImageAccess access, Post post, Progress progress);
  /// What is being fetched is given up.
  ~Images();
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  /// Tells when it is here, or why it is not; on the loop.
  void want(ContainerOptions options, Got got);

 private:
  struct Wanted {
    ContainerOptions options;
    Got got;
  };

  void run(const std::stop_token& stop);
  ImageResult<std::shared_ptr<const ContainerPlan>> fetch(const ContainerOptions& options, const std::stop_token& stop);

  const std::string folder_;
  const ImageAccess access_;
  const Post post_;
  const Progress progress_;
  std::unique_ptr<ImageStore> store_;  // the thread's
  std::mutex mutex_;                   // guards what follows
  std::condition_variable_any wakes_;
  std::deque<Wanted> wanted_;
  std::jthread thread_;  // last: it uses all of the above
};

/// Fetches it here and now, saying how it goes.
ImageResult<std::shared_ptr<const ContainerPlan>> fetch_image(
    ImageStore& store, const ContainerOptions& options, const ImageAccess& access,
    const std::function<void(const std::string& words)>& progress, const std::stop_token& stop = {});

/// "fetching, 12 of 80 MB"
std::string progress_words(const ImageProgress& progress);

}  // namespace drover
