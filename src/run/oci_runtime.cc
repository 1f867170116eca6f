#include "run/oci_runtime.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

#include "base/text.h"

namespace drover {
namespace {

constexpr std::string_view kUsualPlaces = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string find_in(std::string_view folders, std::string_view name) {
  while (!folders.empty()) {
    const std::size_t end = std::min(folders.find(':'), folders.size());
    std::string path = concat(folders.substr(0, end), "/", name);
    if (path.front() == '/' && ::access(path.c_str(), X_OK) == 0) return path;
    folders.remove_prefix(std::min(end + 1, folders.size()));
  }
  return {};
}

std::string find_program_named(std::string_view name) {
  const char* own = std::getenv("PATH");
  std::string found = own != nullptr ? find_in(own, name) : std::string();
  return found.empty() ? find_in(kUsualPlaces, name) : found;
}

}  // namespace

Result<OciRuntime> find_oci_runtime(ContainerRuntime wanted) {
  struct Candidate {
    ContainerRuntime runtime;
    std::string_view name;
  };
  constexpr std::array kCandidates = {Candidate{ContainerRuntime::crun, "crun"},
                                      Candidate{ContainerRuntime::runc, "runc"}};
  for (const auto& [runtime, name] : kCandidates) {
    if (wanted != ContainerRuntime::any && wanted != runtime) continue;
    if (std::string path = find_program_named(name); !path.empty()) {
      return OciRuntime{std::move(path), runtime == ContainerRuntime::crun};
    }
  }
  const std::string_view what = wanted == ContainerRuntime::crun   ? "crun is not"
                                : wanted == ContainerRuntime::runc ? "runc is not"
                                                                   : "neither crun nor runc is";
  return fail(ErrorCode::not_found, concat("containers cannot be run here: ", what, " installed"),
              "install one of them (apt-get install crun), or use a machine's Docker with --runtime docker");
}

}  // namespace drover
