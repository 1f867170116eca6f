#include "worker/images.h"

#include <filesystem>

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr std::size_t kFetchers = 4;
constexpr std::chrono::hours kTidyingPause{1};

std::shared_ptr<const ContainerPlan> plan_for(const ContainerOptions& options, std::shared_ptr<const Image> image) {
  auto plan = std::make_shared<ContainerPlan>();
  plan->options = options;
  plan->name = image->reference.text();
  plan->digest = image->digest;
  plan->layers = image->layers;
  plan->image = {.entrypoint = image->config.entrypoint,
                 .command = image->config.command,
                 .environment = image->config.environment,
                 .user = image->config.user,
                 .workdir = image->config.working_folder,
                 .stop_signal = image->config.stop_signal};
  plan->keeps = std::move(image);
  return plan;
}

// "fetching, 12 of 80 MB"
std::string progress_words(const ImageProgress& progress) {
  std::string words(to_string(progress.phase));
  if (progress.bytes_total > 0) {
    words += concat(", ", format_size(progress.bytes_done), " of ", format_size(progress.bytes_total));
  } else if (progress.bytes_done > 0) {
    words += concat(", ", format_size(progress.bytes_done));
  }
  if (progress.layer > 0) words += concat(", layer ", progress.layer, " of ", progress.layers);
  return words;
}

}  // namespace

Result<ImageReference> image_of(const ContainerOptions& options) {
  auto reference = ImageReference::parse(options.image);
  if (!reference || options.digest.empty() || reference->source == ImageReference::Source::root_folder) {
    return reference;
  }
  return reference->pinned(options.digest);
}

ImageResult<ImageStore*> ImagePlace::store() {
  const std::lock_guard lock(mutex_);
  if (!store_) {
    auto opened = ImageStore::open(folder_, limits_);
    if (!opened) return pass(opened);
    store_ = std::move(*opened);
  }
  return store_.get();
}

ImageResult<std::shared_ptr<const ContainerPlan>> ImagePlace::fetch(const ContainerOptions& options, const Tell& tell,
                                                                    const std::stop_token& stop) {
  if (runtime_for(options) == ContainerRuntime::docker) return fetch_for_docker(options, tell);
  auto reference = image_of(options);
  if (!reference) return image_fail(ImageFault::unsupported, reference.error().message, reference.error().next);
  auto store = this->store();
  if (!store) return pass(store);
  auto image = (*store)->fetch(*reference, access_, [&](const ImageProgress& now) { tell(progress_words(now)); }, stop);
  if (!image) return pass(image);
  return plan_for(options, std::move(*image));
}

void ImagePlace::tidy() {
  std::error_code error;
  if (!std::filesystem::exists(folder_, error)) return;  // nobody has needed an image yet
  if (auto store = this->store(); store) (void)(*store)->tidy();
}

ImageResult<std::shared_ptr<const ContainerPlan>> ImagePlace::fetch_for_docker(const ContainerOptions& options,
                                                                               const Tell& tell) {
  auto reference = ImageReference::parse(options.image);
  if (!reference) return image_fail(ImageFault::unsupported, reference.error().message, reference.error().next);
  auto runner = runner_.docker();
  if (!runner) {
    return image_fail(ImageFault::unsupported, concat("image ", options.image, ": ", runner.error().message),
                      runner.error().next);
  }
  auto plan = std::make_shared<ContainerPlan>();
  plan->options = options;
  plan->options.runtime = ContainerRuntime::docker;
  using enum ImageReference::Source;
  switch (reference->source) {
    case registry: plan->name = options.image; break;
    case docker_daemon: plan->name = options.image.substr(std::string_view("docker-daemon:").size()); break;
    case docker_archive: {
      auto loaded = load_image((*runner)->daemon(), reference->path);
      if (!loaded) return pass(loaded);
      plan->name = *loaded;
      plan->options.digest.clear();  // a daemon knows none of what it did not pull
      break;
    }
    case oci_layout:
    case root_folder:
      return image_fail(ImageFault::unsupported, concat("image ", options.image, ": Docker takes no such place"),
                        "name an image of a registry, docker-archive:PATH or docker-daemon:NAME, or use crun or runc");
  }
  auto image = (*runner)->ensure_image(
      *plan, {.access = access_, .progress = [&](const ImageProgress& now) { tell(progress_words(now)); }});
  if (!image) return pass(image);
  plan->image = image->defaults;
  // The whole command is made here, as for every other runtime.
  plan->options.entrypoint = std::vector<std::string>{};
  return plan;
}

Images::Images(std::unique_ptr<ImagePlace> place, Post post, Progress progress)
    : place_(std::move(place)), post_(std::move(post)), progress_(std::move(progress)) {
  for (std::size_t i = 0; i < kFetchers; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
}

Images::~Images() {
  for (std::jthread& thread : threads_) thread.request_stop();
  wakes_.notify_all();
}

void Images::want(ContainerOptions options, Got got) {
  const std::lock_guard lock(mutex_);
  wanted_.push_back({std::move(options), std::move(got)});
  wakes_.notify_all();
}

ImageResult<std::shared_ptr<const ContainerPlan>> Images::fetch(const ContainerOptions& options,
                                                                const std::stop_token& stop) {
  std::string last;
  return place_->fetch(
      options,
      [&](const std::string& words) {
        if (words == std::exchange(last, words)) return;
        post_([this, image = options.image, words] { progress_(image, words); });
      },
      stop);
}

void Images::run(const std::stop_token& stop) {
  while (true) {
    Wanted next;
    {
      std::unique_lock lock(mutex_);
      const auto tidy_at = tidy_at_;
      if (!wakes_.wait_until(lock, stop, tidy_at, [&] { return !wanted_.empty(); })) {
        if (stop.stop_requested()) return;
        const auto now = std::chrono::steady_clock::now();
        if (now < tidy_at_) continue;  // another one does it
        tidy_at_ = now + kTidyingPause;
        lock.unlock();
        place_->tidy();
        continue;
      }
      next = std::move(wanted_.front());
      wanted_.pop_front();
    }
    auto fetched = fetch(next.options, stop);
    if (stop.stop_requested()) return;
    post_([got = std::move(next.got), fetched = std::move(fetched)]() mutable { got(std::move(fetched)); });
  }
}

}  // namespace drover
