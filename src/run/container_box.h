// What a slot needs on disk so that its items can run in containers: a bundle for the runtime, the image's layers under
// short names, a place for what items write; and the frame that tells its helper of it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "ports/runner.h"
#include "run/cgroups.h"
#include "run/oci_runtime.h"
#include "run/project_quota.h"
#include "run/user_namespace.h"

namespace drover {

/// Where containers of this process are kept.
class ContainerHome {
 public:
  /// What processes that are gone have left there is removed. What could not be is told: in a user namespace others
  /// may have written it.
  static std::vector<std::string> sweep(const std::string& folder);

  /// `folder` may not exist yet. An error: containers cannot be made by this user on this machine.
  /// `leftovers` are removed by the first that can.
  static Result<std::unique_ptr<ContainerHome>> make(const std::string& folder, std::vector<std::string> leftovers);
  ~ContainerHome();
  ContainerHome(const ContainerHome&) = delete;
  ContainerHome& operator=(const ContainerHome&) = delete;

  /// For the next slot.
  std::string new_folder();
  /// The program that is the first process in every container.
  const std::string& first_process() const { return first_process_; }
  /// What a volume of that name is on this machine.
  std::string volume(const std::string& name) const;
  /// What sweep() could not remove, here.
  const std::vector<std::string>& leftovers() const { return leftovers_; }
  /// Where root is not to be had.
  const std::optional<UserNamespace>& user_namespace() const { return user_namespace_; }

 private:
  explicit ContainerHome(std::string folder);

  std::string all_;   // of every process
  std::string ours_;  // of this one
  std::string first_process_;
  std::optional<UserNamespace> user_namespace_;
  std::vector<std::string> leftovers_;
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
  /// Of the items' user.
  const std::string& home() const { return home_; }
  /// Whether its own cgroups hold the items' limits.
  bool has_cgroup() const { return !cgroup_.path.empty(); }
  void remove();

 private:
  Result<void> fill(const SlotSetup& setup, const OciRuntime& runtime, const ContainerHome& home);

  std::string folder_;
  std::string frame_;
  std::string home_;
  ContainerCgroup cgroup_;
  ProjectQuota quota_;
};

}  // namespace drover
