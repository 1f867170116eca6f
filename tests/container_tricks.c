/* What a hostile item tries from inside its container, as root there. Each line: what, and what came of it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void said(const char* what, long result) {
  printf("%s: %s\n", what, result < 0 ? "refused" : "DONE");
}

static long opens(const char* path, int how) {
  const int file = open(path, how);
  if (file >= 0) close(file);
  return file;
}

static long reads_a_disk(void) {
  char byte;
  unlink("/tmp/disk");
  if (mknod("/tmp/disk", S_IFBLK | 0600, makedev(DISK_MAJOR, DISK_MINOR)) != 0) return -1;
  const int disk = open("/tmp/disk", O_RDONLY);
  return disk < 0 ? -1 : read(disk, &byte, 1);
}

/* A root within the root, and out of it by a folder that stayed open: one then stands at the top of the mount namespace, which must be the
   container's own. */
static long leaves_by_chroot(void) {
  struct stat inside, outside;
  if (stat("/", &inside) != 0) return -1;
  mkdir("/tmp/cell", 0700);
  const int top = open("/", O_RDONLY | O_DIRECTORY);
  if (chroot("/tmp/cell") != 0 || fchdir(top) != 0) return -1;
  for (int i = 0; i < 64; ++i) {
    if (chdir("..") != 0) return -1;
  }
  if (chroot(".") != 0 || stat("/", &outside) != 0) return -1;
  return inside.st_dev == outside.st_dev && inside.st_ino == outside.st_ino ? -1 : 0;
}

static long has_others_descriptors(void) {
  for (int number = 3; number < 1024; ++number) {
    if (fcntl(number, F_GETFD) >= 0) return number;
  }
  return -1;
}

int main(void) {
  said("descriptors of others", has_others_descriptors());
  said("mount", mount("none", "/tmp", "tmpfs", 0, ""));
  said("bind over the root", mount("/", "/tmp", "", MS_BIND | MS_REC, ""));
  said("remount /proc/sys", mount("", "/proc/sys", "", MS_REMOUNT | MS_BIND, ""));
  said("umount /proc", umount2("/proc", MNT_DETACH));
  said("pivot_root", syscall(SYS_pivot_root, ".", "."));
  said("unshare user", unshare(CLONE_NEWUSER));
  said("unshare mounts", unshare(CLONE_NEWNS));
  said("join the first process", setns(open("/proc/1/ns/mnt", O_RDONLY), CLONE_NEWNS));
  said("look into the first process", opens("/proc/1/root", O_RDONLY));
  said("read the memory of the first process", opens("/proc/1/mem", O_RDWR));
  said("see what the first process has open", opens("/proc/1/fd/0", O_RDONLY));
  said("trace the first process", ptrace(PTRACE_SEIZE, 1, 0, 0));
  said("write to its program", opens("/proc/1/exe", O_WRONLY));
  said("sethostname", sethostname("owned", 5));
  said("keyctl", syscall(SYS_keyctl, 0, -3, 1));
  said("add_key", syscall(SYS_add_key, "user", "drover", "x", 1, -3));
  said("bpf", syscall(SYS_bpf, 5, NULL, 0));
  said("perf_event_open", syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0));
  said("init_module", syscall(SYS_init_module, NULL, 0, ""));
  said("kexec_load", syscall(SYS_kexec_load, 0, 0, NULL, 0));
  said("reboot", syscall(SYS_reboot, 0, 0, 0, NULL));
  said("open_by_handle_at", syscall(SYS_open_by_handle_at, AT_FDCWD, NULL, 0));
  said("userfaultfd", syscall(SYS_userfaultfd, 0));
  said("io_uring", syscall(SYS_io_uring_setup, 1, NULL));
  said("raise a limit of the machine", opens("/proc/sys/kernel/pid_max", O_WRONLY));
  said("core_pattern", opens("/proc/sys/kernel/core_pattern", O_WRONLY));
  said("sysrq", opens("/proc/sysrq-trigger", O_WRONLY));
  said("kcore", opens("/proc/kcore", O_RDONLY) >= 0 && read(open("/proc/kcore", O_RDONLY), (char[1]){0}, 1) == 1 ? 0 : -1);
  said("/sys", opens("/sys/kernel/profiling", O_WRONLY) & opens("/sys/kernel/mm/transparent_hugepage/enabled", O_WRONLY));
  said("its own limits", opens("/sys/fs/cgroup/memory/memory.limit_in_bytes", O_WRONLY) & opens("/sys/fs/cgroup/memory.max", O_WRONLY) &
                             opens("/sys/fs/cgroup/pids/pids.max", O_WRONLY) & opens("/sys/fs/cgroup/cgroup.procs", O_WRONLY));
  said("release_agent", opens("/sys/fs/cgroup/memory/release_agent", O_WRONLY));
  said("memory of the machine", opens("/dev/mem", O_RDONLY));
  said("read a disk", reads_a_disk());
  said("listen to what others send", socket(AF_PACKET, SOCK_RAW, htons(3)));
  said("listen to what others send, by protocol", socket(AF_INET, SOCK_RAW, IPPROTO_TCP));
  said("the same over IPv6", socket(AF_INET6, SOCK_RAW, IPPROTO_TCP));
  said("chroot and back", leaves_by_chroot());
  return 0;
}
