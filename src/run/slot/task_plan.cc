#include "run/slot/task_plan.h"

#include <cstring>

namespace drover::slot {
namespace {

void set_variable(std::vector<const char*>& environment, const char* variable) {
  const char* equals = std::strchr(variable, '=');
  if (equals != nullptr) {
    const auto name_size = static_cast<std::size_t>(equals + 1 - variable);
    for (const char*& present : environment) {
      if (std::strncmp(present, variable, name_size) == 0) {
        present = variable;
        return;
      }
    }
  }
  environment.push_back(variable);
}

}  // namespace

std::string TaskPlan::read(const TaskFrame& frame, const std::vector<const char*>& base_environment) {
  FrameReader reader(frame.bytes());
  reader.get<Token>();
  bool holds_nul = false;
  const auto c_text = [&] {
    const std::string_view text = reader.text();
    holds_nul = holds_nul || std::memchr(text.data(), '\0', text.size()) != nullptr;
    return text.data();
  };

  program = c_text();
  stdout_path = c_text();
  stderr_path = c_text();
  wants_terminal = reader.get<bool>();
  arguments.assign(1, nullptr);
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) arguments.push_back(c_text());
  arguments.push_back(nullptr);

  environment = base_environment;
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    set_variable(environment, c_text());
  }
  find_search_path();
  environment.push_back(nullptr);

  if (!reader.intact()) return "could not read the task";
  if (holds_nul) return std::string("could not start ") + program + ": its command or environment contains a NUL byte";
  return {};
}

void TaskPlan::find_search_path() {
  search_path = nullptr;
  for (const char* variable : environment) {
    if (std::strncmp(variable, "PATH=", 5) == 0) search_path = variable + 5;
  }
}

}  // namespace drover::slot
