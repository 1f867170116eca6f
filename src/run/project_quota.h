// A limit on what may be written below a folder: a project of its own, where the file system counts by project.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace drover {

class ProjectQuota {
 public:
  ProjectQuota() = default;

  /// Of all that will be made below `folder`, which is still empty. An error: it cannot be held here.
  static Result<ProjectQuota> hold(const std::string& folder, std::uint64_t bytes);
  /// Of the same folder, before it goes.
  void release(const std::string& folder) const;

 private:
  std::uint32_t project_ = 0;  // 0: nothing is held
};

}  // namespace drover
