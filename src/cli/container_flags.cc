#include "cli/container_flags.h"

#include <boost/json.hpp>
#include <filesystem>

#include "cli/typed_fields.h"
#include "wire/container_fields.h"
#include "wire/image_reference.h"

namespace drover {
namespace {

// "mounts[0]" is what --mount said.
std::string flag_of(const std::string& path) {
  std::string name = field_name(path);
  for (const std::string_view plural : {"mounts", "devices", "ulimits"}) {
    if (name == plural) name.pop_back();
  }
  return name == "init" ? "--no-init" : flag_name(std::move(name));
}

Error as_error(const JobProblem& problem) {
  Error error = flag_error(problem, flag_of(problem.field), "run");
  if (problem.next.starts_with("add image:")) error.next = "add --image NAME, or omit the flag";
  if (problem.next.starts_with("add reuse:")) error.next = "add --reuse, or omit the flag";
  return error;
}

std::string whole_path(const std::string& path) {
  std::string whole = std::filesystem::absolute(path).lexically_normal();
  if (whole.size() > 1 && whole.ends_with('/')) whole.pop_back();
  return whole;
}

/// Whether a source is a path relative to this folder: a plain name that nothing here has is a volume's.
bool is_relative_path(const std::string& source) {
  if (source.empty() || source.starts_with('/')) return false;
  std::error_code ignored;
  return source.starts_with('.') || source.contains('/') || std::filesystem::exists(source, ignored);
}

// "in:/in", "./in:/in" and "data/in:/in".
std::vector<std::string> with_whole_paths(std::vector<std::string> mounts) {
  for (std::string& mount : mounts) {
    const std::size_t colon = mount.find(':');
    if (colon == std::string::npos || !is_relative_path(mount.substr(0, colon))) continue;
    mount = whole_path(mount.substr(0, colon)) + mount.substr(colon);
  }
  return mounts;
}

// And by "oci:images/x:1": whoever goes on with it may stand elsewhere.
std::optional<std::string> with_whole_path(std::optional<std::string> image) {
  if (!image) return image;
  const auto reference = ImageReference::parse(*image);
  if (!reference || !reference->is_local_path() || reference->path.starts_with('/')) return image;
  const std::size_t from = image->find(':') + 1;
  return image->replace(from, reference->path.size(), whole_path(reference->path));
}

}  // namespace

void add_container_flags(const Verb& verb, ContainerFlags& flags) {
  const auto text = [&](const char* name, std::optional<std::string>& into, const char* help, const char* type) {
    verb.add_option(name, into, help).type_name(type);
  };
  const auto repeated = [&](const char* name, std::vector<std::string>& into, const char* help, const char* type) {
    verb.add_option(name, into, help).type_name(type).repeatable();
  };
  text("--image", flags.image,
       "Run each item in this container image: NAME[:TAG|@DIGEST], oci:PATH, docker-archive:PATH, docker-daemon:NAME "
       "or rootfs:PATH",
       "IMAGE");
  repeated(
      "--mount", flags.mounts,
      "Mount a directory or file from the machine, or a volume; a relative path is relative to the current directory, "
      "and a name that does not exist there is a volume; repeatable",
      "SOURCE:TARGET[:ro]");
  repeated("--tmpfs", flags.tmpfs, "Mount an empty in-memory file system (tmpfs); repeatable", "TARGET[:SIZE]");
  text("--user", flags.user, "User that the command runs as in the container (default: set by the image)",
       "USER[:GROUP]");
  repeated("--entrypoint", flags.entrypoint,
           "Word to put before the command in place of the image's entrypoint; '' for none; repeatable", "WORD");
  text("--network", flags.network, "host: the machine's network; none: loopback only (default: host)", "host|none");
  text("--hostname", flags.hostname, "Host name of the container", "NAME");
  text("--shm-size", flags.shm_size, "Size of /dev/shm (default: 64MiB)", "SIZE");
  text("--disk", flags.disk, "Limit on what an item can write to its container's root file system", "SIZE");
  repeated("--device", flags.devices, "Make one of the machine's devices available in the container; repeatable",
           "PATH[:INSIDE[:rwm]]");
  repeated("--ulimit", flags.ulimits, "Set a resource limit (ulimit) for each process; repeatable", "NAME=SOFT[:HARD]");
  repeated("--cap-add", flags.cap_add, "Capability to add to the default set; repeatable", "NAME");
  repeated("--cap-drop", flags.cap_drop, "Capability to remove; repeatable", "NAME");
  verb.add_flag("--read-only", flags.read_only, "Make the container's file system read-only, except for mounts");
  verb.add_flag("--privileged", flags.privileged,
                "Grant all capabilities and devices; equivalent to root on the machine");
  verb.add_flag("--no-init", flags.no_init, "Run the command itself as the container's first process");
  verb.add_flag("--reuse", flags.reuse, "Run items one after another in the same container");
  text("--reset", flags.reset,
       "With --reuse, what each item starts with: overlay: a fresh file system from the image; none: what the previous "
       "item left (default: overlay)",
       "overlay|none");
  text("--reuse-limit", flags.reuse_limit, "With --reuse: start a new container after N items (default: 1000)", "N");
  text("--runtime", flags.runtime, "Container runtime (default: any)", "any|crun|runc|docker");
}

Result<void> apply_container_flags(const ContainerFlags& flags, bool has_definition,
                                   std::optional<ContainerOptions>& options, std::set<std::string, std::less<>>& said) {
  Node under{.kind = Node::Kind::object};
  if (options) {
    auto known = node_from_json(boost::json::serialize(container_to_json(*options, said)));
    if (!known) return pass(known);
    under = std::move(*known);
  }
  TypedFields typed(std::move(under));
  typed.text("image", with_whole_path(flags.image));
  typed.text("runtime", flags.runtime);
  typed.texts("entrypoint", flags.entrypoint);
  typed.text("user", flags.user);
  typed.text("hostname", flags.hostname);
  typed.text("network", flags.network);
  typed.texts("mounts", with_whole_paths(flags.mounts));
  typed.texts("tmpfs", flags.tmpfs);
  typed.texts("devices", flags.devices);
  typed.texts("ulimits", flags.ulimits);
  typed.texts("cap_add", flags.cap_add);
  typed.texts("cap_drop", flags.cap_drop);
  typed.text("shm_size", flags.shm_size);
  typed.text("disk", flags.disk);
  typed.flag("read_only", flags.read_only);
  typed.flag("privileged", flags.privileged);
  typed.flag("init", flags.no_init, false);
  typed.flag("reuse", flags.reuse);
  typed.text("reset", flags.reset);
  typed.number("reuse_limit", flags.reuse_limit);
  if (typed.said().empty()) return {};
  // The image has changed, and so has what its tag means.
  if (typed.said().contains("image")) typed.remove("image_digest");
  const std::set<std::string, std::less<>> typed_by_hand = typed.said();
  // A definition that is still to come may say what is missing here.
  if (has_definition) typed.put("definition", TypedFields::text_node("known"));
  JobReader reader(typed.root(), Face::api);
  std::optional<ContainerOptions> read;
  read_container(reader, read);
  if (!reader.problems().empty()) return std::unexpected(as_error(reader.problems().front()));
  if (read && read->entrypoint == std::vector<std::string>{""}) read->entrypoint->clear();
  options = std::move(read);
  said.insert(typed_by_hand.begin(), typed_by_hand.end());
  return {};
}

}  // namespace drover
