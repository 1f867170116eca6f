#include "wire/job_fields.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/nearest_word.h"
#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr std::int64_t kMost32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::int64_t kMost64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLongest = 9'000'000'000'000'000;  // ms
constexpr std::string_view kName = "(?!\\.\\.?$)[A-Za-z0-9_.\\-]{1,128}";
constexpr std::string_view kCapability = "[A-Za-z_]{3,32}";
constexpr std::string_view kNameWords = "a name: letters, digits, '_', '.' and '-', at most 128 characters";

constexpr JobField kFields[] = {
    {"name", FieldKind::text, Face::everywhere, "\"nightly\"",
     "Name of the job (default: name of its program or image)", 0, 0, kName, kNameWords},
    {"definition", FieldKind::text, Face::everywhere, "\"render:3\"",
     "Definition that the job is based on, NAME or NAME:REVISION; fields of the job override those of the definition, "
     "and `environment` is merged variable by variable",
     0, 0, "(?!\\.\\.?(:|$))[A-Za-z0-9_.\\-]{1,128}(:[1-9][0-9]{0,8})?", "a definition's name, or NAME:REVISION"},
    {"command", FieldKind::command, Face::everywhere, "[\"./process\", \"{}\"]",
     "Command and its arguments, with placeholders such as `{}` for the item; with `shell: true` it can be a single "
     "string"},
    {"shell", FieldKind::flag, Face::everywhere, "true",
     "Run the command as a `/bin/sh` command line; items are quoted when inserted"},
    {"workdir", FieldKind::text, Face::everywhere, "\"/data\"",
     "Working directory of the command on the worker's machine; in a job file, a relative path is relative to the "
     "file's directory",
     0, 0, "", "a path"},
    {"environment", FieldKind::settings, Face::everywhere, "{\"MODE\": \"fast\"}",
     "Environment variables for the command"},

    {"items", FieldKind::items, Face::everywhere, "[\"a.png\", \"b.png\"]",
     "The items: strings, or objects whose fields are placeholders"},
    {"items_file", FieldKind::text, Face::file, "\"list.txt\"", "Read items from this file, one per line", 0, 0, "",
     "a path"},
    {"range", FieldKind::range, Face::everywhere, "[1, 1000]", "Use the numbers from the first to the last as items"},
    {"dir", FieldKind::text, Face::file, "\"photos\"", "Use the files below this directory as items, as absolute paths",
     0, 0, "", "a path"},
    {"match", FieldKind::text, Face::file, "\"*.jpg\"", "With `dir`: use only files whose names match this pattern", 0,
     0, "", "a pattern such as *.jpg"},
    {"jsonl", FieldKind::text, Face::file, "\"frames.jsonl\"",
     "Read items from this file as JSON objects, one per line; `{field}` is replaced by the field's value", 0, 0, "",
     "a path"},
    {"manifest", FieldKind::whole, Face::api, "7",
     "Use the list of items that was uploaded with `POST /api/v1/manifests`", 1, kMost64},
    {"item_kind", FieldKind::choice, Face::everywhere, "\"json\"",
     "Kind of the items: `text`, or `json` objects whose fields are placeholders", 0, 0, "text|json"},
    {"map", FieldKind::map, Face::file, "{\"/mnt/data\": \"s3://bucket/data\"}",
     "Replace paths at the beginning of items; only whole path components match, and the longest match applies"},

    {"image", FieldKind::text, Face::everywhere, "\"python:3.12\"",
     "Run each item in this container image: `NAME[:TAG|@DIGEST]`, `oci:PATH`, `docker-archive:PATH`, "
     "`docker-daemon:NAME` or `rootfs:PATH`; `command` can then be omitted to run the image's own",
     0, 0, "[!-~]{1,1024}|(oci|docker-archive|rootfs):/[^\\r\\n\\t]+", "an image such as python:3.12"},
    {"image_digest", FieldKind::text, Face::everywhere,
     "\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
     "Digest that the image's tag resolves to; `drover submit` looks it up, so that every item runs the same image", 0,
     0, "sha256:[0-9a-f]{64}", "a digest: sha256: followed by 64 hexadecimal digits"},
    {"entrypoint", FieldKind::texts, Face::everywhere, "[\"/bin/sh\", \"-c\"]",
     "Words to put before the command in place of the image's entrypoint; `[]` for none"},
    {"user", FieldKind::text, Face::everywhere, "\"1000:1000\"",
     "User that the command runs as in the container: a name known to the image, or numbers (default: set by the "
     "image)",
     0, 0, "[A-Za-z0-9_.\\-]{1,64}(:[A-Za-z0-9_.\\-]{1,64})?", "USER or USER:GROUP"},
    {"mounts", FieldKind::texts, Face::everywhere, "[\"/data:/in:ro\"]",
     "Directories and files on the worker's machine to mount in the container: `SOURCE:TARGET[:ro]`; a source that is "
     "not a path is a volume that the worker keeps",
     0, 0, "[A-Za-z0-9_.\\-/][^:]*:/[^:]+(:r[ow])?"},
    {"tmpfs", FieldKind::texts, Face::everywhere, "[\"/scratch:1GiB\"]",
     "Empty in-memory file systems (tmpfs) to mount: `TARGET[:SIZE]`", 0, 0, "/[^:]+(:[^:]+)?"},
    {"shm_size", FieldKind::size, Face::everywhere, "\"1GiB\"", "Size of /dev/shm (default: 64MiB)", 4096, kMost64},
    {"disk", FieldKind::size, Face::everywhere, "\"10GiB\"",
     "Limit on how much an item can write to its container's root file system, where the worker's file system can "
     "enforce "
     "it",
     1 << 20, kMost64},
    {"read_only", FieldKind::flag, Face::everywhere, "true",
     "Make the container's file system read-only, except for mounts"},
    {"network", FieldKind::choice, Face::everywhere, "\"none\"",
     "`host`: the machine's network; `none`: loopback only (default: `host`)", 0, 0, "host|none"},
    {"hostname", FieldKind::text, Face::everywhere, "\"render\"", "Host name of the container", 0, 0,
     "[A-Za-z0-9]([A-Za-z0-9.\\-]{0,62}[A-Za-z0-9])?", "a host name"},
    {"devices", FieldKind::texts, Face::everywhere, "[\"/dev/fuse:/dev/fuse:rwm\"]",
     "Devices on the worker's machine to make available in the container: `PATH[:INSIDE[:ACCESS]]`; INSIDE must be "
     "under /dev",
     0, 0, "/dev/[^:]+|/[^:]+:/dev/[^:]+(:[rwm]+)?"},
    {"ulimits", FieldKind::texts, Face::everywhere, "[\"nofile=1024:4096\"]",
     "Resource limits (ulimit) for each process: `NAME=SOFT[:HARD]`", 0, 0,
     "[a-z]+=(unlimited|-1|[0-9]+)(:(unlimited|-1|[0-9]+))?"},
    {"cap_add", FieldKind::texts, Face::everywhere, "[\"SYS_PTRACE\"]", "Capabilities to add to the default set", 0, 0,
     kCapability},
    {"cap_drop", FieldKind::texts, Face::everywhere, "[\"CHOWN\"]", "Capabilities to remove", 0, 0, kCapability},
    {"privileged", FieldKind::flag, Face::everywhere, "true",
     "Grant all capabilities and devices, without a system call filter; equivalent to root on the machine"},
    {"init", FieldKind::flag, Face::everywhere, "false",
     "Run an init process that forwards signals and reaps orphans (default: true)"},
    {"reuse", FieldKind::flag, Face::everywhere, "true",
     "Run items one after another in the same container, with an overhead of about a millisecond per item"},
    {"reset", FieldKind::choice, Face::everywhere, "\"none\"",
     "With `reuse`, what each item starts with: `overlay`: a fresh file system from the image; `none`: what the "
     "previous item left (default: `overlay`)",
     0, 0, "overlay|none"},
    {"reuse_limit", FieldKind::whole, Face::everywhere, "100",
     "With `reuse`: start a new container after this many items (default: 1000)", 1, kMost32},
    {"runtime", FieldKind::choice, Face::everywhere, "\"runc\"",
     "Container runtime: `any`, `crun`, `runc` or `docker` (default: `any`)", 0, 0, "any|crun|runc|docker"},

    {"cpus", FieldKind::real, Face::everywhere, "0.5",
     "CPUs per item, as both request and limit (default: a request of 1, no limit)", 1, 100'000'000},
    {"memory", FieldKind::size, Face::everywhere, "\"4GiB\"", "Memory per item, as both request and limit",
     std::int64_t{4} << 20, kMost64},
    {"gpus", FieldKind::whole, Face::everywhere, "1", "GPUs per item; short for `accelerators: {nvidia: N}`", 0,
     kMostAccelerators},
    {"accelerators", FieldKind::accelerators, Face::everywhere, "{\"nvidia\": 1}",
     "Accelerators per item, by kind: `nvidia`, `amd` or `neuron`", 0, kMostAccelerators},
    {"pids", FieldKind::whole, Face::everywhere, "256", "Maximum number of processes and threads per item", 1, kMost32},
    {"nice", FieldKind::whole, Face::everywhere, "10",
     "Add this to the nice value of items; a positive value lowers their priority", -20, 19},
    {"log_limit", FieldKind::size, Face::everywhere, "\"1MiB\"",
     "Maximum output to keep per attempt, from its beginning and its end; 0: no limit (default: 64MiB)", 1024, 0},
    {"require", FieldKind::labels, Face::everywhere, "{\"zone\": \"a\"}",
     "Labels that a worker must have, with exactly these values"},

    {"queue", FieldKind::text, Face::everywhere, "\"default\"", "Queue that the job waits in (default: `default`)", 0,
     0, kName, kNameWords},
    {"priority", FieldKind::whole, Face::everywhere, "10",
     "Within a share, the job with the higher priority runs first (default: 0)", 0, 9999},
    {"share", FieldKind::text, Face::everywhere, "\"physics\"",
     "Share that the job's usage counts against in a fair queue", 0, 0, "[A-Za-z0-9_.\\-]{1,255}",
     "a name: letters, digits, '_', '.' and '-', at most 255 characters"},
    {"after", FieldKind::after, Face::everywhere, "[\"prepare\", {\"job\": \"split\", \"each\": true}]",
     "Jobs that must succeed first, by id, unique prefix of an id, or name; with `each`, every item waits only for the "
     "item with the same index",
     0, 20},
    {"sequential", FieldKind::flag, Face::everywhere, "true",
     "Run items one at a time, in order; a failed item stops the job"},
    {"max_running", FieldKind::whole, Face::everywhere, "50", "Maximum number of items to run at once", 1, kMost64},
    {"strict_lease", FieldKind::flag, Face::everywhere, "true",
     "A worker that cannot reach the server kills the job's items before their lease expires, so that no other worker "
     "runs them at the same time (default: they keep running)"},

    {"timeout", FieldKind::time, Face::everywhere, "\"10m\"",
     "Time limit per attempt; one that runs longer is stopped and not retried", 1, kLongest},
    {"grace", FieldKind::time, Face::everywhere, "\"30s\"", "Time between SIGTERM and SIGKILL (default: 30s)", 0,
     kLongest},
    {"job_timeout", FieldKind::time, Face::everywhere, "\"12h\"",
     "Time limit for the whole job; a job that takes longer is stopped", 1, kLongest},
    {"retries", FieldKind::whole, Face::everywhere, "2", "Number of times to retry an item that failed (default: 0)", 0,
     1'000'000},
    {"retry_delay", FieldKind::time, Face::everywhere, "\"1m\"", "Time to wait before a retry (default: 0s)", 0,
     kLongest},
    {"rules", FieldKind::rules, Face::everywhere, "[{\"onExitCode\": \"75\", \"action\": \"RETRY\"}]",
     "Retry rules in the format of AWS Batch; the first rule that matches applies"},
    {"max_failures", FieldKind::whole, Face::everywhere, "10",
     "Stop the job when more items than this have failed permanently", 0, kMost64},
    {"lost_limit", FieldKind::whole, Face::everywhere, "20",
     "Give up on an item after its machine has been lost this many times (default: 20)", 1, 1'000'000},
    {"client_token", FieldKind::text, Face::everywhere, "\"2026-11-15\"",
     "Idempotency token; a second submission with the same token returns the same job", 0, 0, "", "a token"},
};

struct Slip {
  std::string_view written;
  std::string_view meant;
};

// What people who come from elsewhere write.
constexpr Slip kSlips[] = {
    {"retry", "retries"},
    {"tries", "retries"},
    {"attempts", "retries"},
    {"max_retries", "retries"},
    {"cpu", "cpus"},
    {"cores", "cpus"},
    {"vcpus", "cpus"},
    {"mem", "memory"},
    {"ram", "memory"},
    {"gpu", "gpus"},
    {"env", "environment"},
    {"envs", "environment"},
    {"variables", "environment"},
    {"cmd", "command"},
    {"args", "command"},
    {"arguments", "command"},
    {"run", "command"},
    {"exec", "command"},
    {"script", "command"},
    {"docker_image", "image"},
    {"container_image", "image"},
    {"volumes", "mounts"},
    {"volume", "mounts"},
    {"mount", "mounts"},
    {"shm", "shm_size"},
    {"cwd", "workdir"},
    {"working_dir", "workdir"},
    {"working_directory", "workdir"},
    {"directory", "dir"},
    {"folder", "dir"},
    {"glob", "match"},
    {"pattern", "match"},
    {"list", "items_file"},
    {"file", "items_file"},
    {"input", "items"},
    {"inputs", "items"},
    {"files", "items"},
    {"array", "range"},
    {"depends_on", "after"},
    {"dependencies", "after"},
    {"needs", "after"},
    {"requires", "require"},
    {"labels", "require"},
    {"tags", "require"},
    {"node_selector", "require"},
    {"parallelism", "max_running"},
    {"concurrency", "max_running"},
    {"parallel", "max_running"},
    {"jobs", "max_running"},
    {"time_limit", "timeout"},
    {"deadline", "job_timeout"},
    {"time", "timeout"},
    {"backoff", "retry_delay"},
    {"delay", "retry_delay"},
    {"job_name", "name"},
    {"title", "name"},
    {"job_queue", "queue"},
    {"job_definition", "definition"},
    {"share_identifier", "share"},
    {"evaluate_on_exit", "rules"},
    {"retry_on", "rules"},
    {"processes", "pids"},
    {"token", "client_token"},
    {"ordered", "sequential"},
    {"log", "log_limit"},
    {"logs", "log_limit"},
};

// maxRunning, max-running and MAX_RUNNING are one.
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ') out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return out;
}

}  // namespace

std::span<const JobField> job_fields() {
  return kFields;
}

const JobField* find_job_field(std::string_view name) {
  const auto* it = std::ranges::find(kFields, name, &JobField::name);
  return it == std::end(kFields) ? nullptr : it;
}

bool is_for(const JobField& field, Face face) {
  return field.face == Face::everywhere || field.face == face;
}

std::string what_it_takes(const JobField& field) {
  switch (field.kind) {
    case FieldKind::text: return std::string(field.holds);
    case FieldKind::flag: return "true or false";
    case FieldKind::whole:
      if (field.most >= kMost32) return concat("a whole number of at least ", field.least);
      return concat("a whole number from ", field.least, " to ", field.most);
    case FieldKind::real: return "a number from 0.001 to 100000";
    case FieldKind::time: return "a duration such as 30s, 10m or 1h30m";
    case FieldKind::size: return "a size such as 512MiB or 4G";
    case FieldKind::choice: {
      std::string words(field.pattern);
      for (std::size_t at = words.find('|'); at != std::string::npos; at = words.find('|'))
        words.replace(at, 1, " or ");
      return words;
    }
    case FieldKind::command: return "a list of words";
    case FieldKind::settings: return "an object of names and values";
    case FieldKind::labels: return "an object of names and strings";
    case FieldKind::texts: return "a list of strings";
    case FieldKind::accelerators: return "an object of kinds and whole numbers";
    case FieldKind::after: return concat("a list of at most ", field.most, " jobs");
    case FieldKind::rules: return "a list of rules";
    case FieldKind::items: return "a list of strings, or of objects";
    case FieldKind::range: return "the first and the last number";
    case FieldKind::map: return "an object of paths and their replacements";
  }
  return {};
}

std::string_view nearest(std::string_view written, std::span<const std::string_view> words) {
  constexpr std::size_t kLongest = 64;  // nobody meant anything by more
  const std::string wanted = folded(written);
  if (wanted.empty() || wanted.size() > kLongest) return {};
  std::vector<std::string> known;
  for (const std::string_view word : words) known.push_back(folded(word));
  const auto found = std::ranges::find(known, nearest_word(wanted, known));
  return found == known.end() ? std::string_view() : words[static_cast<std::size_t>(found - known.begin())];
}

bool may_be_null(const JobField& field) {
  return field.name != "image";
}

bool is_of_container(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "image",    "image_digest", "entrypoint", "user",     "mounts",  "tmpfs",       "shm_size",
      "disk",     "read_only",    "network",    "hostname", "devices", "ulimits",     "cap_add",
      "cap_drop", "privileged",   "init",       "reuse",    "reset",   "reuse_limit", "runtime"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

bool is_source(std::string_view name) {
  static constexpr std::string_view kSources[] = {"items", "items_file", "range", "dir", "jsonl", "manifest"};
  return std::ranges::find(kSources, name) != std::end(kSources);
}

std::string_view meant_field(std::string_view written) {
  const std::string wanted = folded(written);
  for (const Slip& slip : kSlips) {
    if (folded(slip.written) == wanted) return slip.meant;
  }
  std::vector<std::string_view> names;
  for (const JobField& field : kFields) names.push_back(field.name);
  return nearest(written, names);
}

}  // namespace drover
