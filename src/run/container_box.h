// What a slot needs on disk so that its items can run in containers: a bundle for the runtime, the image's layers under
// short names, a place for what items write; and the frame that tells its helper of it.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "ports/runner.h"
#include "run/cgroups.h"
#include "run/oci_runtime.h"
#include "run/project_quota.h"

namespace drover {

/// Where containers of this process are kept.
class ContainerHome {
 public:
  /// What processes that are gone have left there is removed.
  static void sweep(const std::string& folder);

  /// `folder` may not exist yet.
  static Result<std::unique_ptr<ContainerHome>> make(const std::string& folder);
  ~ContainerHome();
  ContainerHome(const ContainerHome&) = delete;
  ContainerHome& operator=(const ContainerHome&) = delete;

  /// For the next slot.
  std::string new_folder();
  /// The program that is the first process in every container.
  const std::string& first_process() const { return first_process_; }
  /// What a volume of that name is on this machine.
  std::string volume(const std::string& name) const;

 private:
  explicit ContainerHome(std::string folder);

  std::string all_;   // of every process
  std::string ours_;  // of this one
  std::string first_process_;
  std::uint64_t slots_ = 0;
};

/// One slot's. Removed, with its cgroups, when the slot is gone.
class ContainerBox {
 public:
  ContainerBox() = default;
  ContainerBox(ContainerBox&&) = default;
  ContainerBox& operator=(ContainerBox&&) = default;

  /// An error: no item of this kind can run here.
  static Result<ContainerBox> make(const SlotSetup& setup, const Cgroups& cgroups, ContainerHome& home);

  explicit operator bool() const { return !folder_.empty(); }
  const std::string& folder() const { return folder_; }
  /// For the helper.
  const std::string& frame() const { return frame_; }
  void remove();

 private:
  Result<void> fill(const SlotSetup& setup, const OciRuntime& runtime, const ContainerHome& home);

  std::string folder_;
  std::string frame_;
  ContainerCgroup cgroup_;
  ProjectQuota quota_;
};

}  // namespace drover
