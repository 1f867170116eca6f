// The program `drover` of a tarball: starts the real one with the loader and the libraries that lie beside it, whatever
// this machine has. Static, so that it runs where there is nothing.
#include <limits.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

int complain(const std::string& what, const char* next) {
  std::fprintf(stderr, "drover: %s: %s\n  next: %s\n", what.c_str(), std::strerror(errno), next);
  return 127;
}

}  // namespace

int main(int argc, char** argv) {
  char path[PATH_MAX];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
  if (length < 0) return complain("/proc/self/exe", "mount /proc here: mount -t proc proc /proc");
  const std::string self(path, static_cast<std::size_t>(length));
  const std::string lib = self.substr(0, self.rfind('/')) + "/lib";
  const std::string loader = lib + "/" DROVER_LOADER;
  const std::string program = lib + "/drover";
  std::vector<const char*> arguments = {loader.c_str(), "--library-path", lib.c_str(),
                                        "--argv0",      argv[0],          program.c_str()};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  ::execv(loader.c_str(), const_cast<char* const*>(arguments.data()));
  return complain(loader, "unpack the tarball anew, and keep its files together");
}
