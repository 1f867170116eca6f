// Machines that are worker processes on this machine.
//
// A machine is a folder with a lock. The lock is taken before the worker is started, and the worker inherits it: it is
// held for as long as the worker or any process below it lives, whatever becomes of the server. So there is no moment
// in which a worker runs that is not listed, and none in which the same one could be started twice.
//
// Its folder also says where its cgroup is, before there is one. So whatever ends the worker or the server, and
// whatever cgroup the next server runs in, the machine's is found and removed with the folder.
#pragma once

#include <sys/types.h>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/machine_cgroups.h"
#include "ports/clock.h"
#include "ports/provider.h"

namespace drover {

class LocalProvider final : public Provider {
 public:
  struct Options {
    std::string folder;   // of this fleet's machines
    std::string data;     // the root below which workers keep their own folders
    std::string program;  // drover
    std::function<void(const std::string&)> notice = [](const std::string& /*nobody listens*/) {};
    std::string process = kThisProcess;  // whose cgroups it sees
  };
  LocalProvider(Options options, SteadyClock& clock);
  ~LocalProvider() override;

  Result<std::string> launch(const MachineOrder& order) override;
  Result<void> terminate(const std::string& name) override;
  Result<MachineList> list() override;
  ProviderPace pace() const override { return kUnpaced; }

 private:
  std::string folder_of(const std::string& name) const;
  std::vector<pid_t> processes_of(const std::string& name) const;
  std::string cgroup_of(const std::string& name) const;
  std::vector<std::string> cgroups_made_for(const std::string& name) const;
  Result<std::vector<std::string>> make_cgroup(const MachineOrder& order);
  void say_without_cgroup(const Error& why) const;
  Result<void> remove(const std::string& name);
  void reap();

  const Options options_;
  SteadyClock& clock_;
  std::optional<Result<MachineCgroups>> cgroups_;     // found when first needed
  std::map<pid_t, std::string> children_;             // that this process has started
  std::map<std::string, std::int64_t> asked_to_end_;  // since when
};

}  // namespace drover
