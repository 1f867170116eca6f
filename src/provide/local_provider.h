// Machines that are worker processes on this machine.
//
// A machine is a folder with a lock. The lock is taken before the worker is started, and the worker inherits it: it is
// held for as long as the worker or any process below it lives, whatever becomes of the server. So there is no moment
// in which a worker runs that is not listed, and none in which the same one could be started twice.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ports/clock.h"
#include "ports/provider.h"

namespace drover {

class LocalProvider final : public Provider {
 public:
  struct Options {
    std::string folder;   // of this fleet's machines
    std::string data;     // the root below which workers keep their own folders
    std::string program;  // drover
  };
  LocalProvider(Options options, SteadyClock& clock);
  ~LocalProvider() override;

  Result<std::string> launch(const MachineOrder& order) override;
  Result<void> terminate(const std::string& name) override;
  Result<MachineList> list() override;

 private:
  std::string folder_of(const std::string& name) const;
  std::vector<pid_t> processes_of(const std::string& name) const;
  Result<void> remove(const std::string& name);
  void reap();

  const Options options_;
  SteadyClock& clock_;
  std::map<pid_t, std::string> children_;             // that this process has started
  std::map<std::string, std::int64_t> asked_to_end_;  // since when
};

}  // namespace drover
