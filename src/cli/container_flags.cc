#include "cli/container_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <filesystem>

#include "base/text.h"
#include "wire/container_fields.h"
#include "wire/document.h"

namespace drover {
namespace {

/// The flags as an object, as if somebody had written them into a file.
class Typed {
 public:
  explicit Typed(Node under) : root(std::move(under)) {}

  void text(const char* name, const std::string& value) {
    if (!value.empty()) put(name, text_node(value));
  }
  void number(const char* name, const std::string& value) {
    if (value.empty()) return;
    put(name,
        Node{.kind = is_json_number(value) ? Node::Kind::number : Node::Kind::text, .quoted = true, .text = value});
  }
  void texts(const char* name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    Node list{.kind = Node::Kind::list};
    for (const std::string& value : values) list.items.push_back(text_node(value));
    put(name, std::move(list));
  }
  void flag(const char* name, bool typed, bool value) {
    if (typed) put(name, Node{.kind = Node::Kind::boolean, .text = value ? "true" : "false"});
  }

  Node root;
  std::set<std::string, std::less<>> said;

 private:
  static Node text_node(const std::string& value) { return {.kind = Node::Kind::text, .quoted = true, .text = value}; }
  void put(const char* name, Node value) {
    std::erase_if(root.fields, [&](const Node::Field& field) { return field.name == name; });
    root.fields.push_back({name, {}, std::move(value)});
    said.insert(name);
  }
};

// "mounts[0]" is what --mount said.
std::string flag_of(const std::string& path) {
  std::string name = path.substr(0, path.find_first_of(".["));
  for (const std::string_view plural : {"mounts", "devices", "ulimits"}) {
    if (name == plural) name.pop_back();
  }
  if (name == "init") return "--no-init";
  std::ranges::replace(name, '_', '-');
  return "--" + name;
}

Error as_error(const JobProblem& problem) {
  const std::string flag = flag_of(problem.field);
  const bool from_file = problem.next.empty() || problem.next.starts_with("write, for example, ");
  std::string next = from_file ? fmt::format("drover run --help says more of {}", flag) : problem.next;
  if (problem.next.starts_with("add image:")) next = "add --image NAME, or take it away";
  if (problem.next.starts_with("add reuse:")) next = "add --reuse, or take it away";
  return {ErrorCode::bad_input, fmt::format("{} {}", flag, problem.what), next};
}

// What a shell's user means by "./in:/in".
std::vector<std::string> with_whole_paths(std::vector<std::string> mounts) {
  for (std::string& mount : mounts) {
    const std::size_t colon = mount.find(':');
    if (!mount.starts_with('.') || colon == std::string::npos) continue;
    std::string source = std::filesystem::absolute(mount.substr(0, colon)).lexically_normal();
    if (source.size() > 1 && source.ends_with('/')) source.pop_back();
    mount = source + mount.substr(colon);
  }
  return mounts;
}

}  // namespace

void add_container_flags(CLI::App& verb, ContainerFlags& flags) {
  const auto text = [&](const char* name, std::string& into, const char* help, const char* type) {
    verb.add_option(name, into, help)->type_name(type);
  };
  const auto repeated = [&](const char* name, std::vector<std::string>& into, const char* help, const char* type) {
    verb.add_option(name, into, help)->type_name(type)->expected(1)->take_all();
  };
  text("--image", flags.image,
       "Run items in this container image: NAME[:TAG|@DIGEST], oci:PATH, docker-archive:PATH, docker-daemon:NAME or "
       "rootfs:PATH",
       "IMAGE");
  repeated("--mount", flags.mounts,
           "A folder or file of the machine that the container sees, or a volume's name; may be repeated",
           "SOURCE:TARGET[:ro]");
  repeated("--tmpfs", flags.tmpfs, "An empty folder in memory; may be repeated", "TARGET[:SIZE]");
  text("--user", flags.user, "Who the command is inside the container (default: as the image says)", "USER[:GROUP]");
  repeated("--entrypoint", flags.entrypoint,
           "A word before the command, instead of the image's own; may be repeated; '' is none", "WORD");
  text("--network", flags.network, "host: the machine's; none: only a loopback (default: host)", "host|none");
  text("--hostname", flags.hostname, "What the container's machine is called", "NAME");
  text("--shm-size", flags.shm_size, "The size of /dev/shm (default: 64MiB)", "SIZE");
  text("--disk", flags.disk, "What an item may write into its container's root", "SIZE");
  repeated("--device", flags.devices, "A device of the machine; may be repeated", "PATH[:INSIDE[:rwm]]");
  repeated("--ulimit", flags.ulimits, "A limit of each process; may be repeated", "NAME=SOFT[:HARD]");
  repeated("--cap-add", flags.cap_add, "A capability beyond the usual few; may be repeated", "NAME");
  repeated("--cap-drop", flags.cap_drop, "A capability that it shall not have; may be repeated", "NAME");
  verb.add_flag("--read-only", flags.read_only, "Nothing in the container can be written but mounts");
  verb.add_flag("--privileged", flags.privileged, "All capabilities and devices: as much as root on the machine");
  verb.add_flag("--no-init", flags.no_init, "The command itself is the container's first process");
  verb.add_flag("--reuse", flags.reuse, "Run items one after another in the same container");
  text("--reset", flags.reset,
       "With --reuse, between items: overlay: the image's file system anew; none: as the item before left it "
       "(default: overlay)",
       "overlay|none");
  text("--reuse-limit", flags.reuse_limit, "With --reuse: a new container after so many items (default: 1000)", "N");
  text("--runtime", flags.runtime, "What runs the container (default: any)", "any|crun|runc|docker");
}

Result<void> apply_container_flags(const ContainerFlags& flags, bool has_definition,
                                   std::optional<ContainerOptions>& options, std::set<std::string, std::less<>>& said) {
  Node under{.kind = Node::Kind::object};
  if (options) {
    auto known = node_from_json(boost::json::serialize(container_to_json(*options, said)));
    if (!known) return pass(known);
    under = std::move(*known);
  }
  Typed typed(std::move(under));
  typed.text("image", flags.image);
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
  typed.flag("read_only", flags.read_only, true);
  typed.flag("privileged", flags.privileged, true);
  typed.flag("init", flags.no_init, false);
  typed.flag("reuse", flags.reuse, true);
  typed.text("reset", flags.reset);
  typed.number("reuse_limit", flags.reuse_limit);
  if (typed.said.empty()) return {};
  // A definition that is still to come may say what is missing here.
  if (has_definition) typed.root.fields.push_back({"definition", {}, {.kind = Node::Kind::text, .text = "known"}});
  // The image has changed, and so has what its tag means.
  if (typed.said.contains("image")) {
    std::erase_if(typed.root.fields, [](const Node::Field& field) { return field.name == "image_digest"; });
  }
  JobReader reader(typed.root, Face::api);
  std::optional<ContainerOptions> read;
  read_container(reader, read);
  if (!reader.problems().empty()) return std::unexpected(as_error(reader.problems().front()));
  if (read && read->entrypoint == std::vector<std::string>{""}) read->entrypoint->clear();
  options = std::move(read);
  said.insert(typed.said.begin(), typed.said.end());
  return {};
}

}  // namespace drover
