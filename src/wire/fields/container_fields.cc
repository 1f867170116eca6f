// In which container.
#include "base/text.h"
#include "wire/capabilities.h"
#include "wire/fields/sections.h"
#include "wire/fields/storage.h"
#include "wire/image_reference.h"

namespace drover {
namespace {

constexpr std::string_view kCapability = "[A-Za-z_]{3,32}";

void read_image(JobReader& reader, const JobField& field, Submission& job) {
  if (!job.definition.container) return;
  std::string& image = job.definition.container->image;
  reader.text(field.name, image);
  if (!reader.has(field.name)) return;
  // It is read on another machine, or from another folder.
  const auto reference = ImageReference::parse(image);
  if (!reference || !reference->is_local_path() || reference->path.starts_with('/')) return;
  reader.complain(*reader.find(field.name), field.name,
                  concat("has the path '", reference->path, "', which is not absolute"),
                  concat("write the absolute path: ", image.substr(0, image.find(':') + 1), "/…/", reference->path));
}

template <auto member>
void read_capabilities(JobReader& reader, const JobField& field, Submission& job) {
  std::vector<std::string> names;
  if (!reader.texts(field.name, names)) return;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (capability_named(names[i])) continue;
    reader.complain_of_text(field.name, i,
                            {ErrorCode::bad_input, "is not a known capability",
                             "use a name from capabilities(7), for example SYS_PTRACE; ALL means all of them"});
  }
  if (job.definition.container) (*job.definition.container).*member = std::move(names);
}

}  // namespace

std::span<const JobField> container_fields() {
  using enum FieldKind;
  static constexpr JobField kFields[] = {
      {.name = "image",
       .kind = text,
       .example = "\"python:3.12\"",
       .meaning = "Run each item in this container image: `NAME[:TAG|@DIGEST]`, `oci:PATH`, `docker-archive:PATH`, "
                  "`docker-daemon:NAME` or `rootfs:PATH`; `command` can then be omitted to run the image's own",
       .pattern = "[!-~]{1,1024}|(oci|docker-archive|rootfs):/[^\\r\\n\\t]+",
       .holds = "an image such as python:3.12",
       .flag = {FlagGroup::container, "IMAGE",
                "Run each item in this container image: NAME[:TAG|@DIGEST], oci:PATH, docker-archive:PATH, "
                "docker-daemon:NAME or rootfs:PATH"},
       .stored = {.read = read_image, .write = write<&ContainerOptions::image>}},
      {.name = "image_digest",
       .kind = text,
       .example = "\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
       .meaning = "Digest that the image's tag resolves to; `drover submit` looks it up, so that every item runs the "
                  "same image",
       .pattern = "sha256:[0-9a-f]{64}",
       .holds = "a digest: sha256: followed by 64 hexadecimal digits",
       .stored = kept<&ContainerOptions::digest>()},
      {.name = "entrypoint",
       .kind = texts,
       .example = "[\"/bin/sh\", \"-c\"]",
       .meaning = "Words to put before the command in place of the image's entrypoint; `[]` for none",
       .flag = {FlagGroup::container, "WORD",
                "Word to put before the command in place of the image's entrypoint; '' for none"},
       .stored = kept<&ContainerOptions::entrypoint>()},
      {.name = "user",
       .kind = text,
       .example = "\"1000:1000\"",
       .meaning = "User that the command runs as in the container: a name known to the image, or numbers (default: set "
                  "by the image)",
       .pattern = "[A-Za-z0-9_.\\-]{1,64}(:[A-Za-z0-9_.\\-]{1,64})?",
       .holds = "USER or USER:GROUP",
       .flag = {FlagGroup::container, "USER[:GROUP]",
                "User that the command runs as in the container (default: set by the image)"},
       .stored = kept<&ContainerOptions::user>()},
      {.name = "mounts",
       .kind = texts,
       .example = "[\"/data:/in:ro\"]",
       .meaning = "Directories and files on the worker's machine to mount in the container: `SOURCE:TARGET[:ro]`; a "
                  "source that is not a path is a volume that the worker keeps; with `:create` or `:ro,create`, a "
                  "directory that does not exist is created",
       .pattern = "[A-Za-z0-9_.\\-/][^:]*:/[^:]+(:(ro|rw|create)(,(ro|rw|create))*)?",
       .flag = {FlagGroup::container, "SOURCE:TARGET[:ro]",
                "Mount a directory or file from the machine, or a volume; a relative path is relative to the current "
                "directory, and a name that does not exist there is a volume",
                "--mount"},
       .stored = kept<&ContainerOptions::mounts>()},
      {.name = "tmpfs",
       .kind = texts,
       .example = "[\"/scratch:1GiB\"]",
       .meaning = "Empty in-memory file systems (tmpfs) to mount: `TARGET[:SIZE]`",
       .pattern = "/[^:]+(:[^:]+)?",
       .flag = {FlagGroup::container, "TARGET[:SIZE]", "Mount an empty in-memory file system (tmpfs)"},
       .stored = kept<&ContainerOptions::tmpfs>()},
      {.name = "shm_size",
       .kind = size,
       .example = "\"1GiB\"",
       .meaning = "Size of /dev/shm (default: 64MiB)",
       .least = 4096,
       .most = kMost64,
       .flag = {FlagGroup::container},
       .stored = kept<&ContainerOptions::shm_bytes>()},
      {.name = "disk",
       .kind = size,
       .example = "\"10GiB\"",
       .meaning = "Limit on how much an item can write to its container's root file system, where the worker's file "
                  "system can enforce it",
       .least = 1 << 20,
       .most = kMost64,
       .flag = {FlagGroup::container, "SIZE", "Limit on what an item can write to its container's root file system"},
       .stored = kept<&ContainerOptions::disk_bytes>()},
      {.name = "read_only",
       .kind = flag,
       .example = "true",
       .meaning = "Make the container's file system read-only, except for mounts",
       .flag = {FlagGroup::container},
       .stored = kept<&ContainerOptions::read_only>()},
      {.name = "network",
       .kind = choice,
       .example = "\"none\"",
       .meaning = "`host`: the machine's network; `none`: loopback only (default: `host`)",
       .pattern = "host|none",
       .flag = {FlagGroup::container},
       .stored = kept<&ContainerOptions::network>()},
      {.name = "hostname",
       .kind = text,
       .example = "\"render\"",
       .meaning = "Host name of the container",
       .pattern = "[A-Za-z0-9]([A-Za-z0-9.\\-]{0,62}[A-Za-z0-9])?",
       .holds = "a host name",
       .flag = {FlagGroup::container, "NAME"},
       .stored = kept<&ContainerOptions::hostname>()},
      {.name = "devices",
       .kind = texts,
       .example = "[\"/dev/fuse:/dev/fuse:rwm\"]",
       .meaning = "Devices on the worker's machine to make available in the container: `PATH[:INSIDE[:ACCESS]]`; "
                  "INSIDE must be under /dev",
       .pattern = "/dev/[^:]+|/[^:]+:/dev/[^:]+(:[rwm]+)?",
       .flag = {FlagGroup::container, "PATH[:INSIDE[:rwm]]",
                "Make one of the machine's devices available in the container", "--device"},
       .stored = kept<&ContainerOptions::devices>()},
      {.name = "ulimits",
       .kind = texts,
       .example = "[\"nofile=1024:4096\"]",
       .meaning = "Resource limits (ulimit) for each process: `NAME=SOFT[:HARD]`",
       .pattern = "[a-z]+=(unlimited|-1|[0-9]+)(:(unlimited|-1|[0-9]+))?",
       .flag = {FlagGroup::container, "NAME=SOFT[:HARD]", "Set a resource limit (ulimit) for each process", "--ulimit"},
       .stored = kept<&ContainerOptions::ulimits>()},
      {.name = "cap_add",
       .kind = texts,
       .example = "[\"SYS_PTRACE\"]",
       .meaning = "Capabilities to add to the default set",
       .pattern = kCapability,
       .flag = {FlagGroup::container, "NAME", "Capability to add to the default set"},
       .stored = {.read = read_capabilities<&ContainerOptions::add_capabilities>,
                  .write = write<&ContainerOptions::add_capabilities>}},
      {.name = "cap_drop",
       .kind = texts,
       .example = "[\"CHOWN\"]",
       .meaning = "Capabilities to remove",
       .pattern = kCapability,
       .flag = {FlagGroup::container, "NAME", "Capability to remove"},
       .stored = {.read = read_capabilities<&ContainerOptions::drop_capabilities>,
                  .write = write<&ContainerOptions::drop_capabilities>}},
      {.name = "privileged",
       .kind = flag,
       .example = "true",
       .meaning = "Grant all capabilities and devices, without a system call filter; equivalent to root on the machine",
       .flag = {FlagGroup::container, {}, "Grant all capabilities and devices; equivalent to root on the machine"},
       .stored = kept<&ContainerOptions::privileged>()},
      {.name = "init",
       .kind = flag,
       .example = "false",
       .meaning = "Run an init process that forwards signals and reaps orphans (default: true)",
       .flag = {FlagGroup::container, {}, "Run the command itself as the container's first process", "--no-init"},
       .stored = kept<&ContainerOptions::init>()},
      {.name = "reuse",
       .kind = flag,
       .example = "true",
       .meaning = "Run items one after another in the same container, with an overhead of about a millisecond per item",
       .flag = {FlagGroup::container, {}, "Run items one after another in the same container"},
       .stored = kept<&ContainerOptions::reuse>()},
      {.name = "reset",
       .kind = choice,
       .example = "\"none\"",
       .meaning = "With `reuse`, what each item starts with: `overlay`: a fresh file system from the image; `none`: "
                  "what the previous item left (default: `overlay`)",
       .pattern = "overlay|none",
       .flag = {FlagGroup::container,
                {},
                "With --reuse, what each item starts with: overlay: a fresh file system from the image; none: what the "
                "previous item left (default: overlay)"},
       .stored = kept<&ContainerOptions::reset>()},
      {.name = "reuse_limit",
       .kind = whole,
       .example = "100",
       .meaning = "With `reuse`: start a new container after this many items (default: 1000)",
       .least = 1,
       .most = kMost32,
       .flag = {FlagGroup::container, {}, "With --reuse: start a new container after N items (default: 1000)"},
       .stored = kept<&ContainerOptions::reuse_limit>()},
      {.name = "runtime",
       .kind = choice,
       .example = "\"runc\"",
       .meaning = "Container runtime: `any`, `crun`, `runc` or `docker` (default: `any`)",
       .pattern = "any|crun|runc|docker",
       .flag = {FlagGroup::container, {}, "Container runtime (default: any)"},
       .stored = kept<&ContainerOptions::runtime>()},
  };
  return kFields;
}

}  // namespace drover
