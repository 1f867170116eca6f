#include "worker/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "base/text.h"
#include "worker/command_template.h"

namespace drover {
namespace {

enum class Found : std::uint8_t { nothing, a_folder, not_executable, executable };

Found look_at(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return Found::nothing;
  if (S_ISDIR(info.st_mode)) return Found::a_folder;
  if (!S_ISREG(info.st_mode) || access(path.c_str(), X_OK) != 0) return Found::not_executable;
  return Found::executable;
}

std::string search_path(const Definition& definition) {
  for (const auto& [name, value] : definition.environment) {
    if (name == "PATH") return value;
  }
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/bin:/usr/bin";
}

using Settings = std::map<std::string, std::string>;

// "NAME=value"
void set(Settings& settings, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos) settings[std::string(text.substr(0, equals))] = text.substr(equals + 1);
}

std::vector<std::string> with(Settings settings, const Definition& definition, const Settings& ours) {
  for (const auto& [name, value] : definition.environment) settings[name] = value;
  for (const auto& [name, value] : ours) settings[name] = value;
  std::vector<std::string> out;
  out.reserve(settings.size());
  for (const auto& [name, value] : settings) out.push_back(concat(name, "=", value));
  return out;
}

}  // namespace

std::vector<std::string> attempt_environment(const Definition& definition, const Settings& ours) {
  Settings settings;
  for (char** entry = environ; *entry != nullptr; ++entry) set(settings, *entry);
  return with(std::move(settings), definition, ours);
}

std::vector<std::string> container_environment(const Definition& definition, const ContainerPlan& plan,
                                               const Settings& ours) {
  Settings settings = {{"PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}};
  for (const std::string& variable : plan.image.environment) set(settings, variable);
  for (const std::string& variable : plan.edits.environment) set(settings, variable);
  return with(std::move(settings), definition, ours);
}

Result<std::string> find_program(const Definition& definition) {
  struct stat info{};
  // A job that names no folder runs where its worker does.
  const std::string workdir = definition.workdir.empty() ? "." : definition.workdir;
  const bool is_there = stat(workdir.c_str(), &info) == 0;
  if (!is_there || !S_ISDIR(info.st_mode)) {
    return fail(ErrorCode::bad_input,
                concat("working directory ", workdir, is_there ? " is not a directory" : " not found"),
                is_there ? "choose a directory with --workdir" : "create it, or choose another one with --workdir");
  }
  auto command = CommandTemplate::parse(definition);
  if (!command) return pass(command);
  const std::string* program = command->fixed_program();
  if (program == nullptr) return std::string();

  std::vector<std::string> candidates;
  if (program->find('/') != std::string::npos) {
    candidates.push_back(program->starts_with('/') ? *program : concat(workdir, "/", *program));
  } else {
    const std::string path = search_path(definition);
    for (std::size_t at = 0; at <= path.size();) {
      const std::size_t end = std::min(path.find(':', at), path.size());
      const std::string folder = end == at ? workdir : path.substr(at, end - at);
      candidates.push_back(concat(folder.starts_with('/') ? folder : concat(workdir, "/", folder), "/", *program));
      at = end + 1;
    }
  }
  std::string folder;
  std::string not_executable;
  for (const std::string& candidate : candidates) {
    const Found found = look_at(candidate);
    if (found == Found::executable) return candidate;
    if (found == Found::a_folder && folder.empty()) folder = candidate;
    if (found == Found::not_executable && not_executable.empty()) not_executable = candidate;
  }
  if (!not_executable.empty()) {
    return fail(ErrorCode::bad_input,
                concat("command '", *program, "': ", not_executable, " is not an executable file"),
                concat("make it executable with 'chmod +x ", not_executable, "', or name its interpreter first"));
  }
  if (!folder.empty()) {
    return fail(ErrorCode::bad_input, concat("command '", *program, "': ", folder, " is a directory"),
                "use the path of a program");
  }
  return fail(ErrorCode::bad_input,
              concat("command '", *program, "' not found",
                     program->find('/') == std::string::npos ? " in PATH" : concat(" in ", workdir)),
              "check the spelling, or use its full path");
}

}  // namespace drover
