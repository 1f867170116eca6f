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
                                                          const std::stop_token& stop);
  /// The same for a program that does nothing else meanwhile: Ctrl-C gives it up, and leaves nothing behind.
  ImageResult<std::shared_ptr<const ContainerPlan>> fetch(const ContainerOptions& options, const Tell& tell);
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

/// Somebody waits for an image as long as this lives; the last who does not wait any more stops its fetch.
class ImageWish;

class Images {
 public:
  /// Blocks until an image is here. From any thread.
  using Fetch = std::function<ImageResult<std::shared_ptr<const ContainerPlan>>(
      const ContainerOptions& options, const ImagePlace::Tell& tell, const std::stop_token& stop)>;
  /// Removes what is there and nobody uses. From any thread.
  using Tidy = std::function<void()>;
  /// Runs something on the worker's loop.
  using Post = std::function<void(std::function<void()>)>;
  using Got = std::function<void(ImageResult<std::shared_ptr<const ContainerPlan>>)>;
  /// An image that is being fetched, in words.
  using Progress = std::function<void(const std::string& image, const std::string& words)>;

  /// So many at once: a registry that hangs holds up its own images, not those of others.
  static constexpr std::size_t kMostAtOnce = 16;

  Images(Fetch fetch, Tidy tidy, Post post, Progress progress);
  /// What is being fetched is given up.
  ~Images();
  Images(const Images&) = delete;
  Images& operator=(const Images&) = delete;

  /// Tells when it is here, or why it is not; on the loop, where this is called too. An image that many want is fetched
  /// once. What is there and nobody uses is looked through once an hour.
  [[nodiscard]] std::shared_ptr<ImageWish> want(const ContainerOptions& options, Got got);

 private:
  struct Fetching;
  friend class ImageWish;

  /// What is to be fetched, for one of the threads.
  struct Order {
    std::uint64_t number = 0;
    ContainerOptions options;
    std::stop_token stop;
  };

  /// True: a thread takes it at once.
  bool place(Order order);
  void run(const std::stop_token& stop);
  void carry_out(const Order& order);
  void on_words(std::uint64_t number, const std::string& words);
  void on_fetched(std::uint64_t number, const ImageResult<std::shared_ptr<const ContainerPlan>>& got);

  const Fetch fetch_;
  const Tidy tidy_;
  const Post post_;
  const Progress progress_;
  // The loop's own.
  std::map<std::uint64_t, std::weak_ptr<Fetching>> fetching_;
  std::uint64_t last_number_ = 0;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any wakes_;
  std::deque<Order> orders_;
  std::size_t idle_ = 1;  // threads: the first is there from the beginning
  std::chrono::steady_clock::time_point tidy_at_ = std::chrono::steady_clock::now();
  std::vector<std::jthread> threads_;  // last: they use all of the above
};

}  // namespace drover
