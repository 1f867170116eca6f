#include "run/image/skopeo.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "base/units.h"
#include "run/image/child_program.h"
#include "run/image/skopeo_words.h"
#include "wire/document.h"

namespace drover {
namespace fs = std::filesystem;
namespace {

using Source = ImageReference::Source;

constexpr std::uint64_t kOtherBytes = std::uint64_t{32} << 20;  // manifests, configurations, what is renamed meanwhile

/// All regular files below, but for `known`. Skopeo writes and renames meanwhile: what vanishes is not counted.
std::uint64_t bytes_below(const fs::path& folder, const std::set<std::string>& known) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (!it->is_regular_file(ignored) || known.contains(it->path().filename())) continue;
    if (const auto size = it->file_size(ignored); !ignored) sum += size;
  }
  return sum;
}

/// DOCKER_CONFIG moves Docker's file; skopeo looks in the usual places only.
std::string docker_config() {
  const char* folder = std::getenv("DOCKER_CONFIG");
  if (folder == nullptr || *folder == '\0') return {};
  std::string file = concat(folder, "/config.json");
  return ::access(file.c_str(), R_OK) == 0 ? file : std::string();
}

bool has_policy() {
  const char* home = std::getenv("HOME");
  if (home != nullptr && ::access(concat(home, "/.config/containers/policy.json").c_str(), R_OK) == 0) return true;
  return ::access("/etc/containers/policy.json", R_OK) == 0;
}

}  // namespace

bool is_loopback(std::string_view host) {
  if (host.starts_with("[::1]")) return true;
  const std::string_view name = host.substr(0, host.find(':'));
  if (name == "localhost") return true;
  // Only as a number: 127.evil.example is a name like any other.
  return name.starts_with("127.") && std::ranges::count(name, '.') == 3 &&
         std::ranges::all_of(name, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

Skopeo::Skopeo(ImageReference reference, ImageAccess access, std::int64_t stall_ms, std::string folder,
               std::stop_token stop)
    : reference_(std::move(reference)),
      access_(std::move(access)),
      stall_ms_(stall_ms),
      folder_(std::move(folder)),
      stop_(std::move(stop)) {}

std::string Skopeo::source(const std::string& digest) const {
  const std::string name = reference_.name.empty() ? std::string() : concat(reference_.host, "/", reference_.name);
  switch (reference_.source) {
    case Source::registry:
      return concat("docker://", name, digest.empty() ? ":" : "@", digest.empty() ? reference_.tag : digest);
    case Source::docker_archive:
      return concat("docker-archive:", reference_.path, name.empty() ? "" : ":", name, name.empty() ? "" : ":",
                    reference_.tag);
    default: return concat("docker-daemon:", name, ":", reference_.tag);
  }
}

std::vector<std::string> Skopeo::words(const std::vector<std::string>& verb, bool copying) const {
  // Only its debugging output says how long a registry asks to be left alone.
  std::vector<std::string> out{access_.skopeo, "--debug", "--tmpdir", folder_};
  // Whoever wants signatures says so in a policy. Where there is none skopeo would do nothing at all.
  if (!has_policy()) out.emplace_back("--insecure-policy");
  out.insert(out.end(), verb.begin(), verb.end());
  if (const char* daemon = std::getenv("DOCKER_HOST");
      reference_.source == Source::docker_daemon && daemon != nullptr && *daemon != '\0') {
    out.push_back(concat("--src-daemon-host=", daemon));
  }
  if (reference_.source != Source::registry) return out;
  const std::string prefix = copying ? "--src-" : "--";
  const std::string auth_file = access_.auth_file.empty() ? docker_config() : access_.auth_file;
  if (!auth_file.empty()) out.push_back(concat(prefix, "authfile=", auth_file));
  if (is_loopback(reference_.host) ||
      std::ranges::find(access_.insecure_registries, reference_.host) != access_.insecure_registries.end()) {
    out.push_back(concat(prefix, "tls-verify=false"));
  }
  return out;
}

ImageResult<std::string> Skopeo::run(const std::vector<std::string>& words,
                                     const std::function<std::uint64_t()>& headway, std::uint64_t most) const {
  ChildEnd end =
      run_child({words, folder_, {"LC_ALL=C", concat("TMPDIR=", folder_)}}, {stall_ms_, headway, most, stop_});
  switch (end.how) {
    case ChildEnd::How::exited:
      if (end.number == 0) return std::move(end.out);
      return std::unexpected(skopeo_error(end.err, reference_));
    case ChildEnd::How::cancelled: return image_fail(ImageFault::cancelled, "the fetch was cancelled");
    case ChildEnd::How::stalled: {
      auto stalled = image_fail(ImageFault::timed_out,
                                concat(reference_.host.empty() ? "skopeo" : reference_.host, " sent nothing for ",
                                       format_duration_us(stall_ms_ * 1000)),
                                "check that it is reachable");
      stalled.error().retry_after_ms = skopeo_retry_after_ms(end.err);
      return stalled;
    }
    case ChildEnd::How::overran:
      return image_fail(ImageFault::too_large,
                        concat(reference_.host, " sends more data than the image's manifest declares"),
                        "push the image again; if it fails again, do not use this registry");
    case ChildEnd::How::signalled:
      return std::unexpected(ImageError{ImageFault::unreachable, Blame::nobody,
                                        concat("skopeo was killed by signal ", end.number),
                                        "check whether the machine has run out of memory"});
    case ChildEnd::How::not_started: break;
  }
  return std::unexpected(
      ImageError{ImageFault::unsupported, Blame::machine,
                 concat("skopeo, which fetches images, cannot be started: ", std::strerror(end.number)),
                 "install the skopeo package on this machine, or use rootfs:PATH or oci:PATH"});
}

ImageResult<std::string> Skopeo::manifest(const std::string& digest) const {
  auto all = words({"inspect", "--raw"}, false);
  all.push_back(source(digest));
  return run(all, {});
}

ImageResult<std::vector<std::string>> Skopeo::names() const {
  auto all = words({"list-tags"}, false);
  all.push_back(concat("docker-archive:", reference_.path));
  const auto said = run(all, {});
  if (!said) return std::unexpected(said.error());
  std::vector<std::string> out;
  const auto node = node_from_json(*said);
  const Node* tags = node ? node->find("Tags") : nullptr;
  if (tags == nullptr) return out;
  for (const Node& tag : tags->items) out.push_back(tag.text);
  return out;
}

ImageResult<std::string> Skopeo::config(const std::string& digest) const {
  auto all = words({"inspect", "--config", "--raw"}, false);
  all.push_back(source(digest));
  return run(all, {});
}

ImageResult<void> Skopeo::copy(const std::string& digest, const std::set<std::string>& known, std::uint64_t bytes,
                               const std::function<void(std::uint64_t)>& fetched) const {
  auto all = words({"copy", "--quiet", "--dest-oci-accept-uncompressed-layers"}, true);
  all.push_back(source(digest));
  all.emplace_back("oci:layout:image");  // relative: a colon in the store's path would be read as another tag
  // A server may say little and send without end: digests are compared only when a blob has ended. An archive is
  // unpacked into the same folder first.
  const bool bounded = reference_.source == Source::registry && bytes < UINT64_MAX - kOtherBytes;
  auto done = run(
      all,
      [&] {
        const std::uint64_t is = bytes_below(folder_, known);
        if (fetched) fetched(is);
        return is;
      },
      bounded ? bytes + kOtherBytes : UINT64_MAX);
  if (!done) return pass(done);
  return {};
}

ImageResult<void> Skopeo::save(const std::function<void(std::uint64_t)>& fetched) const {
  auto all = words({"copy", "--quiet"}, true);
  all.push_back(source({}));
  all.push_back(concat("docker-archive:archive.tar:", reference_.host, "/", reference_.name, ":", reference_.tag));
  auto done = run(all, [&] {
    const std::uint64_t bytes = bytes_below(folder_, {});
    if (fetched) fetched(bytes);
    return bytes;
  });
  if (!done) return pass(done);
  return {};
}

}  // namespace drover
