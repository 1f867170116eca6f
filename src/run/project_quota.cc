#include "run/project_quota.h"

#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "ports/descriptor.h"

namespace drover {
namespace {

constexpr const char* kEnableQuotas =
    "keep Drover's data on ext4 (mkfs -O quota,project) or XFS, mounted with prjquota, or omit --disk";
constexpr std::uint32_t kBlockBytes = 1024;  // the unit of a limit
// People number their projects from 1. A folder's own number is no other's while it is there; in the upper half it is
// nobody's project either, and a number that a killed process left behind is taken anew with its folder.
constexpr std::uint32_t kOurs = 0x8000'0000;

long set_limit(int folder, std::uint32_t project, std::uint64_t blocks) {
  if_dqblk limit{};
  limit.dqb_bhardlimit = limit.dqb_bsoftlimit = blocks;
  limit.dqb_valid = QIF_BLIMITS;
  return ::syscall(SYS_quotactl_fd, folder, QCMD(Q_SETQUOTA, PRJQUOTA), project, &limit);
}

/// Counting is not holding: a file system can be mounted so that it only counts.
bool is_enforced(int folder) {
  fs_quota_statv state{};
  state.qs_version = FS_QSTATV_VERSION1;
  return ::syscall(SYS_quotactl_fd, folder, QCMD(Q_XGETQSTATV, PRJQUOTA), 0, &state) == 0 &&
         (state.qs_flags & FS_QUOTA_PDQ_ENFD) != 0;
}

}  // namespace

Result<ProjectQuota> ProjectQuota::hold(const std::string& folder, std::uint64_t bytes) {
  const auto refuse = [&] {
    return fail(
        ErrorCode::bad_input,
        concat("--disk cannot be enforced on this machine: the file system of ", folder, " has no project quotas"),
        kEnableQuotas);
  };
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info{};
  if (!opened || ::fstat(opened.get(), &info) != 0) return std::unexpected(errno_error(errno, folder));
  if (!is_enforced(opened.get())) return refuse();
  ProjectQuota quota;
  quota.project_ = kOurs | static_cast<std::uint32_t>(info.st_ino & ~kOurs);
  fsxattr attributes{};
  if (::ioctl(opened.get(), FS_IOC_FSGETXATTR, &attributes) != 0) return refuse();
  attributes.fsx_projid = quota.project_;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  if (::ioctl(opened.get(), FS_IOC_FSSETXATTR, &attributes) != 0) return refuse();
  if (set_limit(opened.get(), quota.project_, (bytes + kBlockBytes - 1) / kBlockBytes) != 0) return refuse();
  return quota;
}

void ProjectQuota::release(const std::string& folder) const {
  if (project_ == 0) return;
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened) set_limit(opened.get(), project_, 0);
}

}  // namespace drover
