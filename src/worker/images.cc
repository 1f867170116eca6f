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

ImageError from_docker(const Error& error) {
  const ImageFault fault = error.code == ErrorCode::not_found   ? ImageFault::missing
                           : error.code == ErrorCode::denied    ? ImageFault::unauthorized
                           : error.code == ErrorCode::timeout   ? ImageFault::timed_out
                           : error.code == ErrorCode::no_space  ? ImageFault::no_space
                           : error.code == ErrorCode::bad_input ? ImageFault::wrong_architecture
                                                                : ImageFault::unreachable;
  return {fault, usual_blame(fault), error.message, error.next};
}

}  // namespace

Result<ImageReference> image_of(const ContainerOptions& options) {
  auto reference = ImageReference::parse(options.image);
  if (!reference || options.digest.empty() || reference->source == ImageReference::Source::root_folder) {
    return reference;
  }
  return reference->pinned(options.digest);
}

ImageResult<std::shared_ptr<const ContainerPlan>> ImagePlace::fetch(const ContainerOptions& options, const Tell& tell,
                                                                    const std::stop_token& stop) {
  if (runtime_for(options) == ContainerRuntime::docker) return fetch_for_docker(options, tell);
  auto reference = image_of(options);
  if (!reference) return image_fail(ImageFault::unsupported, reference.error().message, reference.error().next);
  if (!store_) {
    auto opened = ImageStore::open(folder_, {});
    if (!opened) return pass(opened);
    store_ = std::move(*opened);
  }
  auto image = store_->fetch(*reference, access_, [&](const ImageProgress& now) { tell(progress_words(now)); }, stop);
  if (!image) return pass(image);
  return plan_for(options, std::move(*image));
}

ImageResult<std::shared_ptr<const ContainerPlan>> ImagePlace::fetch_for_docker(const ContainerOptions& options,
                                                                               const Tell& tell) {
  auto reference = ImageReference::parse(options.image);
  if (!reference) return image_fail(ImageFault::unsupported, reference.error().message, reference.error().next);
  const auto failed = [&](const Error& error) { return std::unexpected(about(*reference, from_docker(error))); };
  auto runner = runner_.docker();
  if (!runner) return failed(runner.error());
  auto plan = std::make_shared<ContainerPlan>();
  plan->options = options;
  plan->options.runtime = ContainerRuntime::docker;
  using enum ImageReference::Source;
  switch (reference->source) {
    case registry: plan->name = options.image; break;
    case docker_daemon: plan->name = options.image.substr(std::string_view("docker-daemon:").size()); break;
    case docker_archive: {
      auto loaded = load_image((*runner)->daemon(), reference->path);
      if (!loaded) return failed(loaded.error());
      plan->name = *loaded;
      plan->options.digest.clear();  // a daemon knows none of what it did not pull
      break;
    }
    case oci_layout:
    case root_folder:
      return image_fail(ImageFault::unsupported, concat("image ", options.image, ": Docker takes no such place"),
                        "name an image of a registry, docker-archive:PATH or docker-daemon:NAME, or use crun or runc");
  }
  auto image = (*runner)->ensure_image(*plan, {}, [&](const PullProgress& now) {
    tell(progress_words({.phase = ImagePhase::fetching, .bytes_done = now.done_bytes, .bytes_total = now.total_bytes}));
  });
  if (!image) return failed(image.error());
  plan->image = image->config;
  // The whole command is made here, as for every other runtime.
  plan->options.entrypoint = std::vector<std::string>{};
  return plan;
}

Images::Images(ImagePlace place, Post post, Progress progress)
    : place_(std::move(place)),
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
  std::string last;
  return place_.fetch(
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
