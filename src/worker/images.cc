#include "worker/images.h"

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

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

}  // namespace

Result<ImageReference> image_of(const ContainerOptions& options) {
  auto reference = ImageReference::parse(options.image);
  if (!reference || options.digest.empty() || reference->source == ImageReference::Source::root_folder) {
    return reference;
  }
  return reference->pinned(options.digest);
}

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

ImageResult<std::shared_ptr<const ContainerPlan>> fetch_image(
    ImageStore& store, const ContainerOptions& options, const ImageAccess& access,
    const std::function<void(const std::string& words)>& progress, const std::stop_token& stop) {
  auto reference = image_of(options);
  if (!reference) return image_fail(ImageFault::unsupported, reference.error().message, reference.error().next);
  auto image = store.fetch(*reference, access, [&](const ImageProgress& now) { progress(progress_words(now)); }, stop);
  if (!image) return pass(image);
  return plan_for(options, std::move(*image));
}

Images::Images(std::string folder, ImageAccess access, Post post, Progress progress)
    : folder_(std::move(folder)),
      access_(std::move(access)),
      post_(std::move(post)),
      progress_(std::move(progress)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

Images::~Images() {
  thread_.request_stop();
  wakes_.notify_all();
}

void Images::want(ContainerOptions options, Got got) {
  const std::lock_guard lock(mutex_);
  wanted_.push_back({std::move(options), std::move(got)});
  wakes_.notify_all();
}

ImageResult<std::shared_ptr<const ContainerPlan>> Images::fetch(const ContainerOptions& options,
                                                                const std::stop_token& stop) {
  if (!store_) {
    auto opened = ImageStore::open(folder_, {});
    if (!opened) return pass(opened);
    store_ = std::move(*opened);
  }
  std::string last;
  return fetch_image(
      *store_, options, access_,
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
      if (!wakes_.wait(lock, stop, [&] { return !wanted_.empty(); })) return;
      next = std::move(wanted_.front());
      wanted_.pop_front();
    }
    auto fetched = fetch(next.options, stop);
    if (stop.stop_requested()) return;
    post_([got = std::move(next.got), fetched = std::move(fetched)]() mutable { got(std::move(fetched)); });
  }
}

}  // namespace drover
