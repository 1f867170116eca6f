#include "cli/image_here.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "base/units.h"
#include "cli/notices_in_background.h"
#include "cli/verb.h"
#include "net/registry_client.h"
#include "run/image/skopeo.h"
#include "worker/images.h"
#include "worker/tag_resolver.h"

namespace drover {
namespace {

/// One line that is written anew on a terminal; elsewhere a line for each phase, and one now and then.
class FetchLine {
 public:
  FetchLine(std::string image, bool quiet) : image_(std::move(image)), quiet_(quiet) {}
  ~FetchLine() {
    if (shown_ && is_terminal_) print_to_error("\r\x1b[K");
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
    print_to_error(
        fmt::format("{}image {}: {}{}", is_terminal_ ? "\r\x1b[K" : "", image_, words, is_terminal_ ? "" : "\n"));
  }

 private:
  static constexpr std::chrono::seconds kPause{10};

  const std::string image_;
  const bool quiet_;
  const bool is_terminal_ = isatty(STDERR_FILENO) == 1;
  std::string phase_;
  std::chrono::steady_clock::time_point shown_at_;
  bool shown_ = false;
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

namespace {

// Whoever submits waits no longer for a registry.
constexpr std::int64_t kLookUpMs = 10'000;
constexpr std::int64_t kUsuallyUnusedMs = std::int64_t{30} * 24 * 3'600'000;

/// Of the disk that this folder is on, or will be.
std::uint64_t half_of_disk(const std::string& folder) {
  std::error_code error;
  std::filesystem::path there = std::filesystem::absolute(folder, error);
  while (!std::filesystem::exists(there, error) && there.has_relative_path()) there = there.parent_path();
  const auto space = std::filesystem::space(there, error);
  return error ? 0 : space.capacity / 2;
}

/// What `docker login` or `skopeo login` wrote here, read anew each time; empty: nobody has logged in.
std::string logins() {
  const auto below = [](const char* variable, std::string_view path) {
    const char* folder = std::getenv(variable);
    return folder == nullptr || *folder == '\0' ? std::string() : concat(folder, path);
  };
  for (const std::string& path :
       {image_access().auth_file, below("DOCKER_CONFIG", "/config.json"),
        below("XDG_RUNTIME_DIR", "/containers/auth.json"), below("HOME", "/.docker/config.json")}) {
    if (path.empty()) continue;
    std::ifstream file(path, std::ios::binary);
    if (file) return {std::istreambuf_iterator<char>(file), {}};
  }
  return {};
}

/// A flag's value, else a variable's, and which it is.
struct Setting {
  std::string name;
  std::string value;
};
Setting setting(const char* flag, const std::string& given, const char* variable) {
  if (!given.empty()) return {flag, given};
  const char* text = std::getenv(variable);
  return {variable, text == nullptr ? "" : text};
}

Error about(const std::string& name, const Error& error) {
  return {error.code, concat(name, ": ", error.message), error.next};
}

/// Into `out`, where it is said at all.
template <class T>
Result<void> read_into(T& out, const Setting& setting, Result<T> (*parse)(std::string_view)) {
  if (setting.value.empty()) return {};
  auto parsed = parse(setting.value);
  if (!parsed) return std::unexpected(about(setting.name, parsed.error()));
  out = *parsed;
  return {};
}

}  // namespace

Result<ImageLimits> image_limits(const std::string& root, const ImageKeeping& flags) {
  ImageLimits limits;
  limits.store_bytes = half_of_disk(images_folder(root));
  limits.unused_for_ms = kUsuallyUnusedMs;
  const Setting patience = setting("", {}, "DROVER_IMAGE_PATIENCE");
  const Setting size = setting("", {}, "DROVER_IMAGE_SIZE");
  const Setting most = setting("--images-most", flags.most, "DROVER_IMAGES_MOST");
  const Setting unused = setting("--images-unused", flags.unused, "DROVER_IMAGES_UNUSED");
  if (auto read = read_into(limits.stall_ms, patience, parse_duration_ms); !read) return pass(read);
  if (auto read = read_into(limits.bytes, size, parse_size); !read) return pass(read);
  if (auto read = read_into(limits.store_bytes, most, parse_size); !read) return pass(read);
  if (auto read = read_into(limits.unused_for_ms, unused, parse_duration_ms); !read) return pass(read);
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
  auto limits = image_limits({});
  if (!limits) return pass(limits);
  auto resolved = resolve(*reference, image_access(), *limits);
  if (resolved) {
    options.digest = resolved->digest;
    return {};
  }
  // The fault of this machine, or of nobody: a worker may see what we do not.
  if (resolved.error().blame != Blame::user || resolved.error().fault == ImageFault::unsupported) {
    print_notice(concat(resolved.error().message, "; workers will look up the image themselves"));
    return {};
  }
  return std::unexpected(resolved.error().error());
}

Result<RegistryRules> registry_rules(const RegistryFlags& flags) {
  Result<RegistryRules> rules = flags.names.empty() ? RegistryRules::usual() : RegistryRules::parse(flags.names);
  if (!rules) return pass(rules);
  for (const std::string& host : flags.own_hosts) {
    rules->add({.host = host,
                .security = is_loopback(host) ? RegistryRule::Security::plain : RegistryRule::Security::tls,
                .was_named = true,
                .ca_file = flags.own_authority});
  }
  // As for fetching: nobody is between a machine and itself.
  for (const std::string& name : flags.names) {
    if (is_loopback(name)) rules->do_not_verify({name});
  }
  rules->do_not_verify(image_access().insecure_registries);
  return rules;
}

std::unique_ptr<ImageResolver> tag_resolver(RegistryRules rules) {
  return std::make_unique<TagResolver>(
      [rules = std::move(rules)](const std::string& image, const std::stop_token& stop) -> Result<std::string> {
        auto reference = ImageReference::parse(image);
        if (!reference) return pass(reference);
        return RegistryClient(rules, logins(), kLookUpMs).digest(*reference, stop);
      });
}

Result<std::shared_ptr<const ContainerPlan>> image_here(const std::string& root, MachineRunner& runner,
                                                        const ContainerOptions& options, bool quiet) {
  FetchLine line(options.image, quiet);
  auto limits = image_limits(root);
  if (!limits) return pass(limits);
  ImagePlace place(images_folder(root), image_access(), *limits, runner);
  auto plan = place.fetch(options, [&](const std::string& words) { line.show(words); });
  if (!plan) return std::unexpected(plan.error().error());
  return std::move(*plan);
}

}  // namespace drover
