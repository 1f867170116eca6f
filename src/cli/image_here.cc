#include "cli/image_here.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "base/text.h"
#include "base/units.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "worker/images.h"

namespace drover {
namespace {

/// One line that is written anew on a terminal; elsewhere a line for each phase, and one now and then.
class FetchLine {
 public:
  FetchLine(std::string image, bool quiet) : image_(std::move(image)), quiet_(quiet) {}
  ~FetchLine() {
    if (shown_ && is_terminal_) print_text(stderr, "\r\x1b[K");
  }
  FetchLine(const FetchLine&) = delete;
  FetchLine& operator=(const FetchLine&) = delete;

  void show(const std::string& words) {
    const std::string phase = words.substr(0, words.find(','));
    const auto now = std::chrono::steady_clock::now();
    const bool is_due = phase != phase_ || now - shown_at_ >= kPause;
    // Looking it up is over in a moment.
    if (quiet_ || phase == "resolving" || (!is_terminal_ && !is_due)) return;
    phase_ = phase;
    shown_at_ = now;
    shown_ = true;
    show_on(stderr, "{}image {}: {}{}", is_terminal_ ? "\r\x1b[K" : "", image_, words, is_terminal_ ? "" : "\n");
  }

 private:
  const std::string image_;
  static constexpr std::chrono::seconds kPause{10};

  const bool quiet_;
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  std::string phase_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point shown_at_;
};

}  // namespace

std::string images_folder(const std::string& root) {
  return concat(root, "/images");
}

std::string containers_folder(const std::string& root) {
  return concat(root, "/containers");
}

ImageAccess image_access() {
  ImageAccess access;
  if (const char* file = std::getenv("DROVER_REGISTRY_AUTH")) access.auth_file = file;
  if (const char* hosts = std::getenv("DROVER_INSECURE_REGISTRIES")) {
    std::string_view rest = hosts;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(','), rest.size());
      if (end > 0) access.insecure_registries.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return access;
}

Result<ImageLimits> image_limits() {
  ImageLimits limits;
  const auto about = [](const char* name, const Error& error) {
    return fail(error.code, concat(name, ": ", error.message), error.next);
  };
  if (const char* text = std::getenv("DROVER_IMAGE_PATIENCE")) {
    auto patience = parse_duration_ms(text);
    if (!patience) return about("DROVER_IMAGE_PATIENCE", patience.error());
    limits.stall_ms = *patience;
  }
  if (const char* text = std::getenv("DROVER_IMAGE_SIZE")) {
    auto size = parse_size(text);
    if (!size) return about("DROVER_IMAGE_SIZE", size.error());
    limits.bytes = *size;
  }
  return limits;
}

Result<void> pin_image(ContainerOptions& options) {
  auto reference = ImageReference::parse(options.image);
  if (!reference) return pass(reference);
  if (!options.digest.empty() || reference->is_pinned()) return {};
  using enum ImageReference::Source;
  const bool is_seen_here = reference->is_local_path() && access(reference->path.c_str(), F_OK) == 0;
  if (reference->source == docker_daemon || (reference->is_local_path() && !is_seen_here)) return {};
  if (reference->source == root_folder) return {};
  auto limits = image_limits();
  if (!limits) return pass(limits);
  auto resolved = resolve(*reference, image_access(), *limits);
  if (resolved) {
    options.digest = resolved->digest;
    return {};
  }
  // The fault of this machine, or of nobody: a worker may see what we do not.
  if (resolved.error().blame != Blame::user || resolved.error().fault == ImageFault::unsupported) {
    print_notice(concat(resolved.error().message, "; workers will look for themselves"));
    return {};
  }
  return std::unexpected(resolved.error().error());
}

Result<std::shared_ptr<const ContainerPlan>> image_here(const std::string& root, MachineRunner& runner,
                                                        const ContainerOptions& options, bool quiet) {
  FetchLine line(options.image, quiet);
  auto limits = image_limits();
  if (!limits) return pass(limits);
  ImagePlace place(images_folder(root), image_access(), *limits, runner);
  auto plan = place.fetch(options, [&](const std::string& words) { line.show(words); });
  if (!plan) return std::unexpected(plan.error().error());
  return std::move(*plan);
}

}  // namespace drover
