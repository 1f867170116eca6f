// Attempts as processes on this machine.
#pragma once

#include "ports/descriptor.h"
#include "ports/runner.h"
#include "run/cgroups.h"
#include "run/container_box.h"

namespace drover {

/// Opens slots that are helper processes (slot/). A helper runs one attempt at a time and leaves none of its
/// processes behind, whichever of helper and drover dies first and however.
class ProcessRunner final : public Runner {
 public:
  /// Makes this process the one that orphans below it come to: it has to clean up after a helper that was killed.
  /// `containers`: a folder for those whose items run in containers; what dead processes left there is removed.
  explicit ProcessRunner(std::string containers = {});

  /// From one thread at a time. /proc has to be mounted.
  Result<std::unique_ptr<Slot>> open_slot(const SlotSetup& setup) override;

  /// How the limits of items are held here, for people: "cgroup v1", or what stands in for it.
  std::string limits_by() const;

 private:
  enum class ImagePlace { none, memory, disk };

  Result<void> next_image();

  Result<ContainerBox> make_box(const SlotSetup& setup);

  Cgroups cgroups_ = Cgroups::find();
  const std::string containers_;
  std::vector<std::string> leftovers_;   // of dead processes' containers, that this one may not remove
  std::unique_ptr<ContainerHome> home_;  // made when the first container is wanted
  std::size_t slots_opened_ = 0;
  Descriptor image_;  // of the helper program, made when the first slot is opened
  ImagePlace image_place_ = ImagePlace::none;
};

}  // namespace drover
