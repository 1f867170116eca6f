#include "accel/accel_settings.h"

#include <toml++/toml.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/text.h"

namespace drover {
namespace {

/// Takes values from a table, and remembers the first that is of another kind.
class SettingsReader {
 public:
  explicit SettingsReader(const toml::table& table) : table_(table) {}

  template <class T>
  void take(std::string_view path, T& into, std::string_view kind) {
    const toml::node_view<const toml::node> node = table_.at_path(path);
    if (!node) return;
    if (const auto value = node.value_exact<T>()) {
      into = *value;
    } else {
      refuse(path, kind);
    }
  }
  void take(std::string_view path, std::vector<std::string>& into) {
    const toml::node_view<const toml::node> node = table_.at_path(path);
    if (!node) return;
    const toml::array* list = node.as_array();
    std::vector<std::string> values;
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const auto value = (*list)[i].value_exact<std::string>();
      if (!value) return refuse(path, "a list of strings");
      values.push_back(*value);
    }
    if (list == nullptr) return refuse(path, "a list of strings");
    into = std::move(values);
  }
  void refuse(std::string_view path, std::string_view kind) {
    if (wrong.empty()) wrong = concat(path, " must be ", kind);
  }

  std::string wrong;

 private:
  const toml::table& table_;
};

Result<AccelMode> mode_named(std::string_view name) {
  if (name == "auto") return AccelMode::automatic;
  if (name == "cdi") return AccelMode::cdi;
  if (name == "legacy" || name == "jit-cdi") return AccelMode::machine;
  return fail(ErrorCode::bad_input, concat("nvidia-container-runtime.mode '", name, "' is not supported"),
              "set it to auto, cdi or jit-cdi");
}

}  // namespace

std::string settings_path() {
  if (const char* path = std::getenv("NVIDIA_CTK_CONFIG_FILE_PATH"); path != nullptr && *path != '\0') return path;
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  return concat(folder != nullptr && *folder != '\0' ? folder : "/etc", "/nvidia-container-runtime/config.toml");
}

Result<AccelSettings> read_accel_settings(const std::string& path, bool must_exist) {
  AccelSettings out;
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT && !must_exist) return out;
    return std::unexpected(errno_error(errno, concat("cannot read the settings ", path), "check --config"));
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  toml::table table;
  try {
    table = toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return fail(ErrorCode::bad_input, concat(path, ", line ", error.source().begin.line, ": ", error.description()));
  }
  SettingsReader reader(table);
  bool disables_requirements = false;
  std::string swarm, capabilities = "all", mode = "auto", debug, level = "info";
  constexpr std::string_view kBoolean = "true or false";
  constexpr std::string_view kString = "a string";
  reader.take("disable-require", disables_requirements, kBoolean);
  reader.take("accept-nvidia-visible-devices-envvar-when-unprivileged", out.takes_variables_of_all, kBoolean);
  reader.take("accept-nvidia-visible-devices-as-volume-mounts", out.takes_mounts, kBoolean);
  reader.take("swarm-resource", swarm, kString);
  reader.take("supported-driver-capabilities", capabilities, kString);
  reader.take("nvidia-container-cli.root", out.driver_root, kString);
  reader.take("nvidia-container-runtime.debug", debug, kString);
  reader.take("nvidia-container-runtime.log-level", level, kString);
  reader.take("nvidia-container-runtime.runtimes", out.runtimes);
  reader.take("nvidia-container-runtime.mode", mode, kString);
  reader.take("nvidia-container-runtime.modes.cdi.default-kind", out.default_kind, kString);
  reader.take("nvidia-container-runtime.modes.cdi.spec-dirs", out.cdi_folders);
  reader.take("nvidia-container-runtime.modes.cdi.annotation-prefixes", out.annotation_prefixes);
  const auto invalid = [&](const Error& error) {
    return fail(ErrorCode::bad_input, concat(path, ": ", error.message), error.next);
  };
  if (!reader.wrong.empty()) return fail(ErrorCode::bad_input, concat(path, ": ", reader.wrong));
  const auto supported = NvidiaCapabilities::parse(capabilities);
  if (!supported) return invalid(supported.error());
  const auto chosen = mode_named(mode);
  if (!chosen) return invalid(chosen.error());
  out.supported = *supported;
  out.mode = *chosen;
  out.checks_requirements = !disables_requirements;
  for (std::string_view rest = swarm; !rest.empty();) {
    const std::string_view name = trimmed(take_until(rest, ','));
    if (!name.empty()) out.swarm_variables.emplace_back(name);
  }
  if (out.driver_root.empty()) out.driver_root = "/";
  if (debug != "/dev/null") out.log = debug;
  out.logs_details = level == "debug" || level == "trace";
  return out;
}

}  // namespace drover
