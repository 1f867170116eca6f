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
    return fail(
        ErrorCode::denied, "containers cannot be run here: drover runs in a chroot, and nothing would hold them in one",
        "run drover outside of it, or in one that is a root of its own (systemd-nspawn, pivot_root); a machine's "
        "Docker runs them from anywhere: --runtime docker");
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
  return fail(ErrorCode::not_found, concat("containers cannot be run here: ", what, " installed"),
              "install one of them (apt-get install crun), or use a machine's Docker with --runtime docker");
}

}  // namespace drover
