// drover accel install: container engines are told of drover-runtime, in files of their own.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "accel/engine_config.h"
#include "accel/root_folder.h"
#include "cli/accel.h"
#include "cli/print.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr const char* kHookName = "nvidia-container-runtime-hook";

struct AccelInstallFlags {
  CommonFlags common;
  bool docker = false;
  bool containerd = false;
  bool podman = false;
  std::string file;
  std::string hook_folder = "/usr/local/bin";
  bool is_default = false;
  bool uninstalls = false;
  bool yes = false;
};

using Text = std::optional<std::string>;

/// A file, as it is and as it shall be; no text: it is not there.
struct FileChange {
  std::string path;
  Text before, after;
};

Result<Text> text_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return Text();
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::unexpected(errno_error(errno, fmt::format("cannot read {}", path), "run this as root"));
  return Text(std::string{std::istreambuf_iterator<char>(file), {}});
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The lines between what both have at their beginning and at their end.
void show_change(const FileChange& change) {
  std::vector<std::string_view> before = lines_of(change.before ? *change.before : std::string_view());
  std::vector<std::string_view> after = lines_of(change.after ? *change.after : std::string_view());
  std::size_t head = 0, tail = 0;
  while (head < before.size() && head < after.size() && before[head] == after[head]) ++head;
  while (tail + head < before.size() && tail + head < after.size() &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  show("{}{}\n", change.path, !change.before ? " (new)" : !change.after ? " (deleted)" : "");
  for (std::size_t i = head; i + tail < before.size(); ++i) show("  - {}\n", before[i]);
  for (std::size_t i = head; i + tail < after.size(); ++i) show("  + {}\n", after[i]);
}

Result<void> make_change(const FileChange& change) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(change.path, error);
  if (!change.after) {
    if (std::filesystem::remove(path, error) || !error) return {};
    return std::unexpected(
        errno_error(error.value(), fmt::format("cannot delete {}", change.path), "run this as root"));
  }
  std::filesystem::create_directories(path.parent_path(), error);
  // A link is followed: it is the file's place that somebody chose.
  const std::filesystem::path real = change.before ? std::filesystem::canonical(path, error) : path;
  const auto folder = RootFolder::open(real.parent_path().string());
  if (!folder) return std::unexpected(folder.error());
  const auto there = folder->lstat("/" + real.filename().string());
  auto written = folder->write("/" + real.filename().string(), *change.after, there ? there->st_mode & 07777 : 0644);
  if (!written) written.error().next = "run this as root";
  return written;
}

ContainerEngine engine_of(const AccelInstallFlags& flags) {
  return flags.docker ? ContainerEngine::docker : flags.podman ? ContainerEngine::podman : ContainerEngine::containerd;
}

Result<FileChange> change_of(const AccelInstallFlags& flags) {
  const ContainerEngine engine = engine_of(flags);
  FileChange change{.path = flags.file.empty() ? std::string(engine_config_path(engine)) : flags.file};
  auto before = text_of(change.path);
  if (!before) return pass(before);
  change.before = change.after = std::move(*before);
  const auto named = [&](const Error& error) {
    return fail(error.code, fmt::format("{}: {}", change.path, error.message), error.next);
  };
  if (flags.uninstalls) {
    if (!change.before) return change;
    auto after = without_runtimes(engine, *change.before);
    if (!after) return named(after.error());
    change.after = std::move(*after);
    return change;
  }
  const auto program = program_beside("drover-runtime");
  if (!program) return std::unexpected(program.error());
  auto after = with_runtimes(engine, change.before, *program, flags.is_default);
  if (!after) return named(after.error());
  change.after = std::move(*after);
  return change;
}

/// dockerd allows --gpus if it finds a program of this name.
struct HookLink {
  std::string path;
  std::string target;  // empty: the link shall go
};

Result<std::optional<HookLink>> link_of(const AccelInstallFlags& flags) {
  if (!flags.docker) return std::optional<HookLink>();
  const std::string path = fmt::format("{}/{}", flags.hook_folder, kHookName);
  std::error_code error;
  const std::filesystem::path there = std::filesystem::read_symlink(path, error);
  const bool is_ours = !error && there.filename() == "drover-hook";
  const bool is_there = std::filesystem::symlink_status(path, error).type() != std::filesystem::file_type::not_found;
  if (flags.uninstalls) return is_ours ? std::optional(HookLink{path, ""}) : std::nullopt;
  const auto program = program_beside("drover-hook");
  if (!program) return std::unexpected(program.error());
  if ((is_ours && there == *program) || (is_there && !is_ours)) return std::optional<HookLink>();
  return std::optional(HookLink{path, *program});
}

Result<void> make_link(const HookLink& link) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(link.path).parent_path(), error);
  std::filesystem::remove(link.path, error);
  if (!error && !link.target.empty()) std::filesystem::create_symlink(link.target, link.path, error);
  if (!error) return {};
  return std::unexpected(errno_error(error.value(), fmt::format("cannot change {}", link.path), "run this as root"));
}

std::string_view restart_of(const AccelInstallFlags& flags) {
  if (flags.docker) return "restart Docker for it to take effect: systemctl restart docker";
  return flags.podman ? "podman reads it at its next start"
                      : "restart containerd for it to take effect: systemctl restart containerd";
}

Result<bool> is_agreed(const AccelInstallFlags& flags) {
  if (flags.yes) return true;
  if (flags.common.json || ::isatty(STDIN_FILENO) == 0) {
    return fail(ErrorCode::bad_input, "nothing was changed: standard input is not a terminal, and nobody can be asked",
                "add --yes to make the change");
  }
  show("Make this change? [y/N] ");
  flush_output();
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

json::value json_of(const Text& text) {
  return text ? json::value(*text) : json::value(nullptr);
}

Result<int> install(const AccelInstallFlags& flags) {
  if (static_cast<int>(flags.docker) + static_cast<int>(flags.containerd) + static_cast<int>(flags.podman) != 1) {
    return fail(ErrorCode::bad_input, "which container engine is not said",
                "use one of --docker, --containerd and --podman");
  }
  const auto change = change_of(flags);
  if (!change) return std::unexpected(change.error());
  const auto link = link_of(flags);
  if (!link) return std::unexpected(link.error());
  const bool is_changed = change->before != change->after;
  const auto print_json = [&](bool done) {
    json::object out{{"changed", done},
                     {"file", change->path},
                     {"before", json_of(change->before)},
                     {"after", json_of(change->after)}};
    out["hook"] = *link ? json::value((*link)->path) : json::value(nullptr);
    show("{}\n", json::serialize(out));
  };
  if (!is_changed && !*link) {
    if (flags.common.json) {
      print_json(false);
    } else if (!flags.common.quiet) {
      show("{}: there is nothing to change\n", change->path);
    }
    return kAllSucceeded;
  }
  if (!flags.common.json && !(flags.common.quiet && flags.yes)) {
    if (is_changed) show_change(*change);
    if (*link)
      show("{}{}\n", (*link)->path,
           (*link)->target.empty() ? " (deleted)" : fmt::format(" -> {} (new)", (*link)->target));
  }
  const auto agreed = is_agreed(flags);
  if (!agreed) return std::unexpected(agreed.error());
  if (!*agreed) {
    show("nothing was changed\n");
    return kSomeDidNot;
  }
  if (is_changed) {
    if (auto made = make_change(*change); !made) return std::unexpected(made.error());
  }
  if (*link) {
    if (auto made = make_link(**link); !made) return std::unexpected(made.error());
  }
  if (flags.common.json) {
    print_json(true);
  } else if (!flags.common.quiet) {
    show("done; {}\n", restart_of(flags));
  }
  return kAllSucceeded;
}

}  // namespace

void add_accel_install(const Verb& verb, Invocation& invocation) {
  auto flags = std::make_shared<AccelInstallFlags>();
  Verb it = verb.add_subcommand("install", "Tell Docker, containerd or podman of the OCI runtime for accelerators");
  add_common_flags(it, flags->common);
  it.add_flag("--docker", flags->docker, "Change Docker's daemon.json, and allow docker run --gpus");
  it.add_flag("--containerd", flags->containerd, "Change containerd's config.toml");
  it.add_flag("--podman", flags->podman, "Add a file to podman's containers.conf.d");
  it.add_option("--file", flags->file, "The file to change (default: the engine's own)").type_name("FILE");
  it.add_option("--hook-dir", flags->hook_folder,
                "Folder in Docker's PATH for the hook that allows --gpus (default: /usr/local/bin)")
      .type_name("DIR");
  it.add_flag("--default", flags->is_default, "Make it the engine's default runtime");
  it.add_flag("--uninstall", flags->uninstalls, "Undo the change: the file is as it was, to the byte");
  it.add_flag("--yes", flags->yes, "Make the change without asking");
  it.footer(
      "Examples:\n  drover accel install --docker\n  drover accel install --docker --default --yes\n"
      "  drover accel install --docker --uninstall");
  it.callback([flags, &invocation] {
    auto status = install(*flags);
    invocation.exit_status = status ? *status : failure(status.error());
  });
}

}  // namespace drover
