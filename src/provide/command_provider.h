// Machines that a program of the administrator's launches, lists and terminates. It is called with one word and a JSON
// object on its standard input, and answers with a JSON object on its standard output; docs/fleets.md has both.
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "ports/provider.h"
#include "provide/script.h"

namespace drover {

class CommandProvider final : public Provider {
 public:
  struct Options {
    std::string program;
    std::string fleet;
    std::string server = {};  // tells its machines from those that others launch for fleets of the same name
    ScriptLimits limits = {};
    std::stop_token stop = {};  // a call that is under way is broken off
  };
  explicit CommandProvider(Options options) : options_(std::move(options)) {}

  Result<std::string> launch(const MachineOrder& order) override;
  Result<void> terminate(const std::string& name) override;
  Result<MachineList> list() override;

 private:
  const Options options_;
};

/// A size of machine that the program can launch.
struct CommandShape {
  std::string name;
  Resources has;
  std::optional<std::int64_t> microdollars = {};       // per hour; nothing: it did not say
  std::optional<std::int64_t> spot_microdollars = {};  // likewise
};
Result<std::vector<CommandShape>> command_shapes(const std::string& program, const ScriptLimits& limits,
                                                 const std::stop_token& stop);

}  // namespace drover
