#include "accel/engine_config.h"

#include <toml++/toml.h>

#include <algorithm>

#include "base/text.h"
#include "wire/json_text.h"

namespace drover {
namespace {

struct RuntimeEntry {
  std::string_view name;
  std::string_view vendor;
};
constexpr RuntimeEntry kRuntimes[] = {{"nvidia", "nvidia"}, {"oci-neuron", "neuron"}, {"drover", "any"}};
constexpr std::string_view kDefaultName = "nvidia";

// A file or an object that is ours alone is known by its blank line: nobody writes one where nothing else is.
constexpr std::string_view kOwnObject = "{\n\n}";
constexpr std::string_view kOwnFile = "{\n\n}\n";
constexpr std::string_view kBegin = "# Added by drover accel install; drover accel install --uninstall removes it.\n";
constexpr std::string_view kEnd = "# The end of what drover accel install added.\n";
constexpr std::string_view kVersionLine = "version = 2\n";

bool is_empty_object(const JsonValue& value) {
  return value.is_object() && value.children.empty();
}

std::unexpected<Error> taken(std::string_view what) {
  return fail(ErrorCode::conflict, concat(what, " is there already and is not Drover's"),
              "remove it from the file, or keep it and do not install");
}

/// The program of a runtime in daemon.json.
std::string docker_program(const JsonValue& runtime) {
  const JsonValue* path = runtime.find("path");
  return path != nullptr && path->is_string() ? path->string() : std::string();
}

bool is_drovers(const JsonValue& runtime) {
  const std::string path = docker_program(runtime);
  return path.substr(path.rfind('/') + 1) == "drover-runtime";
}

std::string docker_entry(const RuntimeEntry& runtime, const std::string& program) {
  return concat("{\"path\": ", json_quoted(program), ", \"runtimeArgs\": [\"--vendor\", ", json_quoted(runtime.vendor),
                "]}");
}

Result<JsonText> daemon_json(std::string text) {
  auto config = JsonText::parse(std::move(text));
  if (!config) {
    return fail(ErrorCode::bad_input, concat("malformed JSON: ", config.error().message), "repair the file first");
  }
  if (!config->root().is_object())
    return fail(ErrorCode::bad_input, "the file is not a JSON object", "repair it first");
  return config;
}

Result<std::string> docker_with(const std::optional<std::string>& text, const std::string& program, bool is_default) {
  auto config = daemon_json(text.value_or(std::string(kOwnFile)));
  if (!config) return pass(config);
  JsonValue& runtimes = config->member(config->root(), "runtimes", kOwnObject);
  if (!runtimes.is_object())
    return fail(ErrorCode::bad_input, "'runtimes' is not a JSON object", "repair the file first");
  for (const RuntimeEntry& runtime : kRuntimes) {
    const JsonValue* there = runtimes.find(runtime.name);
    if (there != nullptr && !is_drovers(*there)) return taken(concat("the runtime '", runtime.name, "'"));
    if (there != nullptr && docker_program(*there) == program) continue;
    config->set(runtimes, runtime.name, config->value(docker_entry(runtime, program)));
  }
  if (is_default) {
    const JsonValue* there = config->root().find("default-runtime");
    if (there != nullptr && there->string() != kDefaultName) {
      return taken(concat("the default runtime '", there->string(), "'"));
    }
    if (there == nullptr) {
      config->set(config->root(), "default-runtime", config->value(json_quoted(kDefaultName)));
    }
  }
  return config->text();
}

Result<std::optional<std::string>> docker_without(const std::string& text) {
  auto config = daemon_json(text);
  if (!config) return pass(config);
  JsonValue* runtimes = config->root().find("runtimes");
  if (runtimes == nullptr || !runtimes->is_object()) return text;
  const JsonValue* by_default = config->root().find("default-runtime");
  const JsonValue* nvidia = runtimes->find(kDefaultName);
  if (nvidia == nullptr || !is_drovers(*nvidia)) by_default = nullptr;
  if (by_default != nullptr && by_default->string() == kDefaultName) config->erase(config->root(), "default-runtime");
  runtimes = config->root().find("runtimes");
  for (auto it = std::rbegin(kRuntimes); it != std::rend(kRuntimes); ++it) {
    const JsonValue* there = runtimes->find(it->name);
    if (there != nullptr && is_drovers(*there)) config->erase(*runtimes, it->name);
  }
  std::string left;
  append_json(left, *runtimes);
  if (is_empty_object(*runtimes) && left == kOwnObject) config->erase(config->root(), "runtimes");
  std::string whole = config->text();
  if (whole == kOwnFile) return std::nullopt;
  return whole;
}

std::optional<std::string> toml_problem(std::string_view text, toml::table* into = nullptr) {
  try {
    toml::table table = toml::parse(text);
    if (into != nullptr) *into = std::move(table);
    return std::nullopt;
  } catch (const toml::parse_error& error) {
    return concat("line ", error.source().begin.line, ": ", error.description());
  }
}

/// The table of the plugin that Kubernetes' containers go through, as each version of the file calls it.
std::string_view cri_plugin(std::int64_t version) {
  return version >= 3 ? "io.containerd.cri.v1.runtime" : "io.containerd.grpc.v1.cri";
}

std::string toml_quoted(std::string_view text) {
  return json_quoted(text);  // a basic string of TOML has the escapes of JSON
}

Result<std::string> containerd_with(const std::optional<std::string>& text, const std::string& program,
                                    bool is_default) {
  toml::table table;
  std::string before = text.value_or("");
  if (auto wrong = toml_problem(before, &table)) {
    return fail(ErrorCode::bad_input, concat("malformed TOML: ", *wrong), "repair the file first");
  }
  if (before.find(kBegin) != std::string::npos) return before;
  const std::int64_t version = table["version"].value_or(std::int64_t{table.empty() ? 2 : 1});
  if (version < 2) {
    return fail(ErrorCode::bad_input, "the file is of version 1, which containerd has given up",
                "write version = 2 at its beginning, see containerd config migrate");
  }
  const std::string plugin(cri_plugin(version));
  const auto runtimes = table["plugins"][plugin]["containerd"]["runtimes"];
  std::string block(kBegin);
  if (!table.contains("version")) block += kVersionLine;
  for (const RuntimeEntry& runtime : kRuntimes) {
    if (runtimes[runtime.name]) return taken(concat("the runtime '", runtime.name, "'"));
    const std::string path = concat("[plugins.", toml_quoted(plugin), ".containerd.runtimes.", runtime.name, "]\n");
    block += concat(path, "runtime_type = \"io.containerd.runc.v2\"\n");
    block += concat(path.substr(0, path.size() - 2), ".options]\nBinaryName = ", toml_quoted(program), "\n");
  }
  if (is_default) {
    return fail(ErrorCode::bad_input, "containerd's default runtime is not changed by Drover",
                "set default_runtime_name in the file, or a RuntimeClass in Kubernetes");
  }
  block += kEnd;
  // Tables end only where others begin, so ours are the last; a file without a last newline gets one that goes too.
  std::string after = concat(before, before.empty() || before.ends_with('\n') ? "" : "\n", block);
  if (text && !before.ends_with('\n')) after.pop_back();
  if (auto wrong = toml_problem(after)) {
    return fail(ErrorCode::conflict, concat("the runtimes cannot be added to this file: ", *wrong),
                concat("add them by hand to [plugins.", toml_quoted(plugin), ".containerd.runtimes]"));
  }
  return after;
}

Result<std::optional<std::string>> containerd_without(const std::string& text) {
  const std::size_t begin = text.find(kBegin);
  if (begin == std::string::npos) return text;
  const std::string_view end_line = kEnd.substr(0, kEnd.size() - 1);
  const std::size_t end = text.find(end_line, begin);
  if (end == std::string::npos) {
    return fail(ErrorCode::bad_input, "the line that ends what was added is missing",
                "remove the runtimes nvidia, oci-neuron and drover by hand");
  }
  std::string before = text.substr(0, begin);
  std::string after = text.substr(end + end_line.size());
  if (after.starts_with('\n')) {
    after.erase(0, 1);
  } else if (before.ends_with('\n')) {
    before.pop_back();
  }
  std::string whole = before + after;
  if (whole.empty() && text.ends_with('\n')) return std::nullopt;
  return whole;
}

Result<std::string> podman_with(const std::optional<std::string>& text, const std::string& program, bool is_default) {
  std::string whole(kBegin);
  if (is_default) whole += concat("[engine]\nruntime = ", toml_quoted(kDefaultName), "\n");
  whole += "[engine.runtimes]\n";
  for (const RuntimeEntry& runtime : kRuntimes) whole += concat(runtime.name, " = [", toml_quoted(program), "]\n");
  whole += kEnd;
  if (text && !text->starts_with(kBegin)) return taken("the file");
  return whole;
}

Result<std::optional<std::string>> podman_without(const std::string& text) {
  if (!text.starts_with(kBegin)) return text;
  return std::nullopt;
}

}  // namespace

std::string_view engine_config_path(ContainerEngine engine) {
  switch (engine) {
    case ContainerEngine::docker: return "/etc/docker/daemon.json";
    case ContainerEngine::containerd: return "/etc/containerd/config.toml";
    case ContainerEngine::podman: return "/etc/containers/containers.conf.d/90-drover.conf";
  }
  return "";
}

Result<std::string> with_runtimes(ContainerEngine engine, const std::optional<std::string>& text,
                                  const std::string& program, bool is_default) {
  switch (engine) {
    case ContainerEngine::docker: return docker_with(text, program, is_default);
    case ContainerEngine::containerd: return containerd_with(text, program, is_default);
    case ContainerEngine::podman: return podman_with(text, program, is_default);
  }
  return std::string();
}

Result<std::optional<std::string>> without_runtimes(ContainerEngine engine, const std::string& text) {
  switch (engine) {
    case ContainerEngine::docker: return docker_without(text);
    case ContainerEngine::containerd: return containerd_without(text);
    case ContainerEngine::podman: return podman_without(text);
  }
  return text;
}

}  // namespace drover
