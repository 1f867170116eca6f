#include "runtime/edit_container.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

#include "accel/inject.h"
#include "base/text.h"
#include "runtime/bundle.h"

namespace drover {
namespace {

constexpr std::string_view kProgramFolders = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string own_program() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof(path));
  return {path, size > 0 ? static_cast<std::size_t>(size) : 0};
}

bool is_own_program(const std::string& path) {
  struct stat a{}, b{};
  return ::stat(path.c_str(), &a) == 0 && ::stat("/proc/self/exe", &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

/// Beside this program, or where programs are installed.
Result<std::string> find_hook_program() {
  const std::string own = own_program();
  std::string path = concat(own.substr(0, own.rfind('/')), "/drover-hook");
  if (::access(path.c_str(), X_OK) == 0) return path;
  for (std::string_view rest = kProgramFolders; !rest.empty();) {
    path = concat(take_until(rest, ':'), "/drover-hook");
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(ErrorCode::not_found, concat("drover-hook is not installed beside ", own),
              "install Drover's Debian package, or copy both programs into one folder");
}

/// Hooks from a file, as oci-add-hooks takes them.
Result<void> add_hooks_of(JsonText& config, const std::string& path) {
  const auto invalid = [&](std::string_view what) {
    return fail(ErrorCode::bad_input, concat("invalid file of hooks ", path, ": ", what),
                R"(write it as {"hooks": {"createContainer": [{"path": "/PROGRAM", "args": ["PROGRAM"]}]}})");
  };
  auto text = read_whole_file(path);
  if (!text) return pass(text);
  auto read = JsonText::parse(std::move(*text));
  if (!read) return invalid(read.error().message);
  if (!read->root().is_object()) return invalid("it is not a JSON object");
  if (JsonValue* hooks = read->root().find("hooks")) {
    JsonValue inner = std::move(*hooks);
    read->root() = std::move(inner);
  }
  if (!read->root().is_object()) return invalid("'hooks' is not a JSON object");
  for (const JsonValue::Child& stage : read->root().children) {
    if (std::ranges::find(kHookStages, stage.name) == std::end(kHookStages)) {
      return invalid(concat("'", stage.name, "' is not the name of a hook"));
    }
    if (!stage.value.is_array()) return invalid(concat("'", stage.name, "' is not an array"));
    for (const JsonValue::Child& hook : stage.value.children) {
      const JsonValue* program = hook.value.find("path");
      if (program == nullptr || !program->string().starts_with('/')) {
        return invalid(concat("a hook of ", stage.name, " has no absolute 'path'"));
      }
    }
  }
  return prepend_hooks(config, *read);
}

std::string counts_of(const CdiEdits& edits) {
  return concat(edits.devices.size(), " devices, ", edits.mounts.size(), " mounts, ", edits.hooks.size(), " hooks");
}

}  // namespace

Result<void> edit_container(const RuntimeCall& call, const AccelSettings& settings, const RuntimeLog& log) {
  const std::string path = concat(call.bundle, "/config.json");
  auto text = read_whole_file(path);
  if (!text) return pass(text);
  auto config = JsonText::parse(std::move(*text));
  if (!config) return fail(ErrorCode::bad_input, concat("invalid ", path, ": ", config.error().message));
  const auto facts = oci_facts(*config);
  if (!facts) return std::unexpected(facts.error());
  const auto request = device_request(*facts, settings, call.vendor);
  if (!request) return std::unexpected(request.error());
  for (const std::string& notice : request->notices) log.warning(notice);
  const std::string before = config->text();
  if (call.vendor != AccelVendor::neuron) remove_nvidia_hooks(*config);
  if (!request->is_empty()) {
    auto hook_program = find_hook_program();
    if (!hook_program) return pass(hook_program);
    auto injection = inject_devices(*request, settings, *hook_program);
    if (!injection) return std::unexpected(injection.error());
    for (const std::string& notice : injection->notices) log.warning(notice);
    if (auto applied = apply_edits(*config, injection->edits); !applied) return applied;
    log.info(concat("bundle ", call.bundle, ": added ", counts_of(injection->edits)));
  }
  for (const std::string& file : call.hook_files) {
    if (auto added = add_hooks_of(*config, file); !added) return added;
  }
  const std::string after = config->text();
  if (after == before) return {};
  return replace_file(path, after);
}

Result<std::string> find_runtime_below(const RuntimeCall& call, const AccelSettings& settings) {
  const std::vector<std::string> names = call.runtime.empty() ? settings.runtimes : std::vector{call.runtime};
  const char* own = std::getenv("PATH");
  const std::string folders = concat(own != nullptr ? own : "", ":", kProgramFolders);
  std::string tried;
  for (const std::string& name : names) {
    tried += concat(tried.empty() ? "" : ", ", name);
    if (name.find('/') != std::string::npos) {
      if (::access(name.c_str(), X_OK) == 0 && !is_own_program(name)) return name;
      continue;
    }
    for (std::string_view rest = folders; !rest.empty();) {
      const std::string_view folder = take_until(rest, ':');
      const std::string path = concat(folder, "/", name);
      if (folder.starts_with('/') && ::access(path.c_str(), X_OK) == 0 && !is_own_program(path)) return path;
    }
  }
  return fail(ErrorCode::not_found, concat("no OCI runtime to run the container with was found: looked for ", tried),
              "install one (apt-get install runc), or name it with nvidia-container-runtime.runtimes in config.toml");
}

}  // namespace drover
