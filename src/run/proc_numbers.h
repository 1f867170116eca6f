// Folders of /proc whose entries are numbers: processes, threads, descriptors.
#pragma once

#include <dirent.h>

#include <cstdlib>
#include <vector>

namespace drover {

/// The numbers that name entries of `folder`; none if it cannot be read.
inline std::vector<int> numbers_in(const char* folder) {
  std::vector<int> numbers;
  DIR* entries = ::opendir(folder);
  if (entries == nullptr) return numbers;
  while (const dirent* entry = ::readdir(entries)) {
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '\0') numbers.push_back(static_cast<int>(number));
  }
  ::closedir(entries);
  return numbers;
}

}  // namespace drover
