#include "run/oci_runtime.h"

#include <array>
#include <string_view>

#include "base/text.h"
#include "run/chroot.h"
#include "run/installed_program.h"

namespace drover {
Result<OciRuntime> find_oci_runtime(ContainerRuntime wanted) {
  struct Candidate {
    ContainerRuntime runtime;
    std::string_view name;
  };
  constexpr std::array kCandidates = {Candidate{ContainerRuntime::crun, "crun"},
                                      Candidate{ContainerRuntime::runc, "runc"}};
  if (is_in_chroot()) {
    return fail(ErrorCode::denied,
                "cannot run containers on this machine: drover runs in a chroot, where they cannot be isolated",
                "run drover outside the chroot, or with its own root file system (systemd-nspawn, pivot_root), or use "
                "Docker: --runtime docker");
  }
  for (const auto& [runtime, name] : kCandidates) {
    if (wanted != ContainerRuntime::any && wanted != runtime) continue;
    if (std::string path = installed_program(name); !path.empty()) {
      return OciRuntime{std::move(path), runtime == ContainerRuntime::crun};
    }
  }
  const std::string_view what = wanted == ContainerRuntime::crun   ? "crun is not"
                                : wanted == ContainerRuntime::runc ? "runc is not"
                                                                   : "neither crun nor runc is";
  return fail(ErrorCode::not_found, concat("cannot run containers on this machine: ", what, " installed"),
              "install crun or runc (for example, apt-get install crun), or use Docker with --runtime docker");
}

}  // namespace drover
