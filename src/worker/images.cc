#include "worker/images.h"

#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "base/words.h"
#include "worker/stop_on_signal.h"

namespace drover {
namespace {

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

/// What was fetched for one, as another wants it: the same image, and other mounts, limits and so on.
std::shared_ptr<const ContainerPlan> plan_from(const ContainerPlan& fetched, const ContainerOptions& options) {
  auto plan = std::make_shared<ContainerPlan>(fetched);
  plan->options = options;
  if (fetched.options.runtime == ContainerRuntime::docker) {
    plan->options.runtime = ContainerRuntime::docker;
    plan->options.digest = fetched.options.digest;
    plan->options.entrypoint = fetched.options.entrypoint;
  }
  return plan;
}

// "fetching, 12 of 80 MB"
std::string progress_words(const ImageProgress& progress) {
  std::string words(to_string(progress.phase));
  if (progress.phase == ImagePhase::waiting) words += " for another process to fetch the same image";
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

ImageResult<std::shared_ptr<const ContainerPlan>> ImagePlace::fetch(const ContainerOptions& options, const Tell& tell) {
  // Docker does not give up what it pulls, and goes on without us.
  if (runtime_for(options) == ContainerRuntime::docker) return fetch(options, tell, {});
  const StopOnSignal signals;
  auto plan = fetch(options, tell, signals.token());
  if (signals.signal() == 0) return plan;
  return image_fail(ImageFault::cancelled,
                    concat("image ", options.image, ": ", signal_name(signals.signal()), " stopped the fetch"),
                    "repeat the command to fetch it from the beginning");
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
      return image_fail(ImageFault::unsupported,
                        concat("image ", options.image, ": Docker does not support this source"),
                        "use an image from a registry, docker-archive:PATH or docker-daemon:NAME, or use crun or runc");
  }
  auto image = (*runner)->ensure_image(
      *plan, {.access = access_, .progress = [&](const ImageProgress& now) { tell(progress_words(now)); }});
  if (!image) return pass(image);
  plan->image = image->defaults;
  // The whole command is made here, as for every other runtime.
  plan->options.entrypoint = std::vector<std::string>{};
  return plan;
}

/// One image, for all who wait for it. The wishes own it; it is the loop's.
struct Images::Fetching {
  ContainerOptions options;  // of the first who wanted it
  std::vector<std::weak_ptr<ImageWish>> wishes = {};
  std::string words = {};  // how it gets on
  std::stop_source stop = {};

  explicit Fetching(ContainerOptions wanted) : options(std::move(wanted)) {}
  ~Fetching() { stop.request_stop(); }
  Fetching(const Fetching&) = delete;
  Fetching& operator=(const Fetching&) = delete;

  bool brings(const ContainerOptions& other) const {
    return options.image == other.image && options.digest == other.digest && options.runtime == other.runtime;
  }
};

class ImageWish {
 public:
  ImageWish(ContainerOptions options, Images::Got got, std::shared_ptr<Images::Fetching> fetching)
      : options_(std::move(options)), got_(std::move(got)), fetching_(std::move(fetching)) {}

  void tell(const ImageResult<std::shared_ptr<const ContainerPlan>>& fetched) const {
    got_(fetched ? ImageResult<std::shared_ptr<const ContainerPlan>>(plan_from(**fetched, options_)) : fetched);
  }

 private:
  const ContainerOptions options_;
  const Images::Got got_;
  const std::shared_ptr<Images::Fetching> fetching_;
};

Images::Images(Fetch fetch, Tidy tidy, Post post, Progress progress)
    : fetch_(std::move(fetch)), tidy_(std::move(tidy)), post_(std::move(post)), progress_(std::move(progress)) {
  threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
}

Images::~Images() {
  for (const auto& [number, weak] : fetching_) {
    if (const auto fetching = weak.lock()) fetching->stop.request_stop();
  }
  for (std::jthread& thread : threads_) thread.request_stop();
  wakes_.notify_all();
}

std::shared_ptr<ImageWish> Images::want(const ContainerOptions& options, Got got) {
  std::erase_if(fetching_, [](const auto& it) { return it.second.expired(); });
  for (const auto& [number, weak] : fetching_) {
    const auto fetching = weak.lock();
    if (!fetching->brings(options)) continue;
    auto wish = std::make_shared<ImageWish>(options, std::move(got), fetching);
    fetching->wishes.push_back(wish);
    // Who comes later hears how far it is, also when nothing moves.
    if (!fetching->words.empty()) post_([this, number = number, words = fetching->words] { on_words(number, words); });
    return wish;
  }
  const std::uint64_t number = ++last_number_;
  auto fetching = std::make_shared<Fetching>(options);
  fetching_[number] = fetching;
  auto wish = std::make_shared<ImageWish>(options, std::move(got), fetching);
  fetching->wishes.push_back(wish);
  if (!place({number, options, fetching->stop.get_token()})) {
    post_([this, number] { on_words(number, concat("waits for ", kMostAtOnce, " other images to be fetched")); });
  }
  return wish;
}

bool Images::place(Order order) {
  const std::lock_guard lock(mutex_);
  std::erase_if(orders_, [](const Order& it) { return it.stop.stop_requested(); });
  orders_.push_back(std::move(order));
  if (idle_ < orders_.size() && threads_.size() < kMostAtOnce) {
    ++idle_;
    threads_.emplace_back([this](const std::stop_token& stop) { run(stop); });
  }
  wakes_.notify_all();
  return orders_.size() <= idle_;
}

void Images::on_words(std::uint64_t number, const std::string& words) {
  const auto found = fetching_.find(number);
  const auto fetching = found == fetching_.end() ? nullptr : found->second.lock();
  if (!fetching) return;
  fetching->words = words;
  progress_(fetching->options.image, words);
}

void Images::on_fetched(std::uint64_t number, const ImageResult<std::shared_ptr<const ContainerPlan>>& got) {
  const auto found = fetching_.find(number);
  const auto fetching = found == fetching_.end() ? nullptr : found->second.lock();
  if (!fetching) return;
  fetching_.erase(found);  // whoever wants it from now on has it fetched anew
  for (const auto& weak : fetching->wishes) {
    if (const auto wish = weak.lock()) wish->tell(got);
  }
}

void Images::carry_out(const Order& order) {
  std::string last;
  auto fetched = fetch_(
      order.options,
      [&](const std::string& words) {
        if (words == std::exchange(last, words)) return;
        post_([this, number = order.number, words] { on_words(number, words); });
      },
      order.stop);
  // Nobody hears of what was stopped.
  if (order.stop.stop_requested()) return;
  post_([this, number = order.number, fetched = std::move(fetched)] { on_fetched(number, fetched); });
}

void Images::run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto without_lock = [&](const auto& work) {
    --idle_;
    lock.unlock();
    work();
    lock.lock();
    ++idle_;
  };
  while (true) {
    const auto tidy_at = tidy_at_;
    const bool is_wanted = wakes_.wait_until(lock, stop, tidy_at, [&] { return !orders_.empty(); });
    if (stop.stop_requested()) return;
    if (is_wanted) {
      const Order next = std::move(orders_.front());
      orders_.pop_front();
      if (!next.stop.stop_requested()) without_lock([&] { carry_out(next); });
      continue;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now < tidy_at_) continue;  // another one does it
    tidy_at_ = now + kTidyingPause;
    without_lock(tidy_);
  }
}

}  // namespace drover
