// The CDI files of this machine, and the devices that they name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "wire/cdi_spec.h"

namespace drover {

class CdiRegistry {
 public:
  /// Reads the .json and .yaml files of these folders. What a later folder says of a device replaces what an earlier
  /// one says; a device that two files of one folder name is not usable.
  static CdiRegistry scan(const std::vector<std::string>& folders);

  struct Problem {
    std::string path;
    std::string what;
  };
  /// Files that cannot be used, in part or whole.
  const std::vector<Problem>& problems() const { return problems_; }
  /// All qualified names, sorted.
  std::vector<std::string> names() const;

  /// The edits for these devices: those of each file once, before those of its first device. An error names every
  /// device that is unknown, and the files that could not be read.
  Result<CdiEdits> resolve(const std::vector<std::string>& names) const;

 private:
  struct Place {
    std::size_t spec = 0;
    std::size_t device = 0;
    std::size_t folder = 0;
    bool is_in_conflict = false;
  };

  void take(const std::string& path, std::size_t folder);

  std::vector<CdiSpec> specs_;
  std::vector<std::string> paths_;  // of the specs
  std::map<std::string, Place> places_;
  std::vector<Problem> problems_;
};

}  // namespace drover
