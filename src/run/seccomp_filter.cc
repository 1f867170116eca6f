#include "run/seccomp_filter.h"

#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>
#include <string>

#include "ports/descriptor.h"
#include "wire/seccomp_profile.h"

namespace drover {
namespace {

scmp_arg_cmp comparison(const CallCondition& condition) {
  switch (condition.test) {
    case CallTest::equals: return SCMP_CMP64(condition.argument, SCMP_CMP_EQ, condition.value);
    case CallTest::differs: return SCMP_CMP64(condition.argument, SCMP_CMP_NE, condition.value);
    case CallTest::masked: return SCMP_CMP64(condition.argument, SCMP_CMP_MASKED_EQ, condition.mask, condition.value);
  }
  return {};
}

}  // namespace

Result<std::vector<sock_filter>> seccomp_filter(CapabilityMask capabilities) {
  const auto failed = [](int error) {
    return std::unexpected(errno_error(error, "could not create the seccomp filter"));
  };
  const std::unique_ptr<void, decltype(&seccomp_release)> context(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (!context) return failed(ENOMEM);
  // A tree, not a list: the kernel tries every call there is when a filter is set, and one is set for each item.
  constexpr std::uint32_t kAsTree = 2;
  seccomp_attr_set(context.get(), SCMP_FLTATR_CTL_OPTIMIZE, kAsTree);
#if defined(__x86_64__)
  for (const std::uint32_t also : {SCMP_ARCH_X86, SCMP_ARCH_X32}) {
#else
  for (const std::uint32_t also : {SCMP_ARCH_ARM}) {
#endif
    if (const int error = seccomp_arch_add(context.get(), also); error != 0 && error != -EEXIST) return failed(-error);
  }
  for (const CallRule& rule : seccomp_profile(capabilities)) {
    std::vector<scmp_arg_cmp> when;
    when.reserve(rule.when.size());
    for (const CallCondition& condition : rule.when) when.push_back(comparison(condition));
    for (const std::string_view name : rule.names) {
      const int call = seccomp_syscall_resolve_name(std::string(name).c_str());
      if (call == __NR_SCMP_ERROR) continue;  // newer than the library
      const std::uint32_t action =
          rule.refused_with == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(static_cast<std::uint32_t>(rule.refused_with));
      const int error =
          seccomp_rule_add_array(context.get(), action, call, static_cast<unsigned>(when.size()), when.data());
      // One that an architecture does not have, or one that was said before.
      if (error != 0 && error != -EDOM && error != -EEXIST && error != -EINVAL) return failed(-error);
    }
  }
  const Descriptor file(::memfd_create("drover-filter", MFD_CLOEXEC));
  if (!file) return failed(errno);
  if (const int error = seccomp_export_bpf(context.get(), file.get()); error != 0) return failed(-error);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return failed(errno);
  std::vector<sock_filter> program(static_cast<std::size_t>(info.st_size) / sizeof(sock_filter));
  const auto size = static_cast<ssize_t>(program.size() * sizeof(sock_filter));
  if (::pread(file.get(), program.data(), static_cast<std::size_t>(size), 0) != size) return failed(errno);
  return program;
}

}  // namespace drover
