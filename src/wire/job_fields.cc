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
constexpr std::string_view kNameWords = "a name: letters, digits, '_', '.' and '-', at most 128 of them";

constexpr JobField kFields[] = {
    {"name", FieldKind::text, Face::everywhere, "\"nightly\"", "What the job is called; default: as its program is", 0,
     0, kName, kNameWords},
    {"definition", FieldKind::text, Face::everywhere, "\"render:3\"",
     "A definition, and perhaps its revision, to begin with: what the job says comes before what the definition says, "
     "variable by variable in `environment`",
     0, 0, "(?!\\.\\.?(:|$))[A-Za-z0-9_.\\-]{1,128}(:[1-9][0-9]{0,8})?", "a definition's name, or NAME:REVISION"},
    {"command", FieldKind::command, Face::everywhere, "[\"./process\", \"{}\"]",
     "The words of the command, with `{}` and its kin for the item; with `shell: true` it may be one text"},
    {"shell", FieldKind::flag, Face::everywhere, "true",
     "The command is a line for `/bin/sh`; items are quoted into it"},
    {"workdir", FieldKind::text, Face::everywhere, "\"/data\"",
     "The folder on the worker's machine that the command runs in; in a file, a relative one begins at the file", 0, 0,
     "", "a path"},
    {"environment", FieldKind::settings, Face::everywhere, "{\"MODE\": \"fast\"}", "Variables for the command"},

    {"items", FieldKind::items, Face::everywhere, "[\"a.png\", \"b.png\"]",
     "The items themselves: texts, or objects whose fields are placeholders"},
    {"items_file", FieldKind::text, Face::file, "\"list.txt\"", "Items: the lines of a file", 0, 0, "", "a path"},
    {"range", FieldKind::range, Face::everywhere, "[1, 1000]", "Items: the numbers from the first to the last"},
    {"dir", FieldKind::text, Face::file, "\"photos\"", "Items: the files below a folder, as absolute paths", 0, 0, "",
     "a path"},
    {"match", FieldKind::text, Face::file, "\"*.jpg\"", "Only files of `dir` whose name matches", 0, 0, "",
     "a pattern such as *.jpg"},
    {"jsonl", FieldKind::text, Face::file, "\"frames.jsonl\"",
     "Items: the JSON objects in a file, one a line; `{field}` is a field", 0, 0, "", "a path"},
    {"manifest", FieldKind::whole, Face::api, "7", "Items: what `POST /api/v1/manifests` gave", 1, kMost64},
    {"item_kind", FieldKind::choice, Face::everywhere, "\"json\"",
     "What items are: `text`, or `json` objects whose fields are placeholders", 0, 0, "text|json"},
    {"map", FieldKind::map, Face::file, "{\"/mnt/data\": \"s3://bucket/data\"}",
     "Items that begin with this path begin with the other one instead; of several the longest counts, and only whole "
     "components of a path"},

    {"image", FieldKind::text, Face::everywhere, "\"python:3.12\"",
     "The container image that items run in: `NAME[:TAG|@DIGEST]`, `oci:PATH`, `docker-archive:PATH`, "
     "`docker-daemon:NAME` or `rootfs:PATH`; `command` may then be left out for the image's own",
     0, 0, "[!-~]{1,1024}|(oci|docker-archive|rootfs):/[^\\r\\n\\t]+", "an image such as python:3.12"},
    {"image_digest", FieldKind::text, Face::everywhere,
     "\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
     "What the image's tag means; `drover submit` looks it up, so that every item runs the same image", 0, 0,
     "sha256:[0-9a-f]{64}", "a digest: sha256: and 64 digits"},
    {"entrypoint", FieldKind::texts, Face::everywhere, "[\"/bin/sh\", \"-c\"]",
     "Words that stand before the command, instead of the image's own; `[]`: none"},
    {"user", FieldKind::text, Face::everywhere, "\"1000:1000\"",
     "Who the command is inside: a name of the image's, or numbers; default: as the image says", 0, 0,
     "[A-Za-z0-9_.\\-]{1,64}(:[A-Za-z0-9_.\\-]{1,64})?", "USER or USER:GROUP"},
    {"mounts", FieldKind::texts, Face::everywhere, "[\"/data:/in:ro\"]",
     "Folders and files of the worker's machine that the container sees: `SOURCE:TARGET[:ro]`; a source that is no "
     "path is a volume that the worker keeps",
     0, 0, "[A-Za-z0-9_.\\-/][^:]*:/[^:]+(:r[ow])?"},
    {"tmpfs", FieldKind::texts, Face::everywhere, "[\"/scratch:1GiB\"]", "Empty folders in memory: `TARGET[:SIZE]`", 0,
     0, "/[^:]+(:[^:]+)?"},
    {"shm_size", FieldKind::size, Face::everywhere, "\"1GiB\"", "The size of /dev/shm; default: 64MiB", 4096, kMost64},
    {"disk", FieldKind::size, Face::everywhere, "\"10GiB\"",
     "What an item may write into its container's root, where the worker's file system can hold it to that", 1 << 20,
     kMost64},
    {"read_only", FieldKind::flag, Face::everywhere, "true", "Nothing can be written but to mounts"},
    {"network", FieldKind::choice, Face::everywhere, "\"none\"",
     "`host`: the machine's network; `none`: only a loopback; default: `host`", 0, 0, "host|none"},
    {"hostname", FieldKind::text, Face::everywhere, "\"render\"", "What the container's machine is called", 0, 0,
     "[A-Za-z0-9]([A-Za-z0-9.\\-]{0,62}[A-Za-z0-9])?", "a host's name"},
    {"devices", FieldKind::texts, Face::everywhere, "[\"/dev/fuse:/dev/fuse:rwm\"]",
     "Devices of the machine: `PATH[:INSIDE[:ACCESS]]`, inside always below /dev", 0, 0,
     "/dev/[^:]+|/[^:]+:/dev/[^:]+(:[rwm]+)?"},
    {"ulimits", FieldKind::texts, Face::everywhere, "[\"nofile=1024:4096\"]",
     "Limits of each process, as ulimit has them: `NAME=SOFT[:HARD]`", 0, 0,
     "[a-z]+=(unlimited|-1|[0-9]+)(:(unlimited|-1|[0-9]+))?"},
    {"cap_add", FieldKind::texts, Face::everywhere, "[\"SYS_PTRACE\"]", "Capabilities beyond the usual few", 0, 0,
     kCapability},
    {"cap_drop", FieldKind::texts, Face::everywhere, "[\"NET_RAW\"]", "Capabilities that it shall not have", 0, 0,
     kCapability},
    {"privileged", FieldKind::flag, Face::everywhere, "true",
     "All capabilities and devices, and no filter of system calls: as much as root on the machine"},
    {"init", FieldKind::flag, Face::everywhere, "false",
     "A first process that passes signals on and reaps orphans; default: true"},
    {"reuse", FieldKind::flag, Face::everywhere, "true",
     "Run items one after another in the same container, which costs a millisecond each"},
    {"reset", FieldKind::choice, Face::everywhere, "\"none\"",
     "With `reuse`: `overlay` gives each item the image's file system anew, `none` what the item before left; default: "
     "`overlay`",
     0, 0, "overlay|none"},
    {"reuse_limit", FieldKind::whole, Face::everywhere, "100",
     "With `reuse`: a new container after so many items; default: 1000", 1, kMost32},
    {"runtime", FieldKind::choice, Face::everywhere, "\"runc\"",
     "What runs the container: `any`, `crun`, `runc` or `docker`; default: `any`", 0, 0, "any|crun|runc|docker"},

    {"cpus", FieldKind::real, Face::everywhere, "0.5",
     "CPUs of an item: what it asks for and is held to; default: it asks for one", 1, 100'000'000},
    {"memory", FieldKind::size, Face::everywhere, "\"4GiB\"", "Memory of an item: what it asks for and is held to",
     std::int64_t{4} << 20, kMost64},
    {"gpus", FieldKind::whole, Face::everywhere, "1", "GPUs of an item: short for `accelerators: {nvidia: N}`", 0,
     kMostAccelerators},
    {"accelerators", FieldKind::accelerators, Face::everywhere, "{\"nvidia\": 1}",
     "Accelerators of an item, by kind: `nvidia`, `amd` or `neuron`", 0, kMostAccelerators},
    {"pids", FieldKind::whole, Face::everywhere, "256", "Processes and threads of an item", 1, kMost32},
    {"nice", FieldKind::whole, Face::everywhere, "10", "Run items with so much less priority on their machine", -20,
     19},
    {"log_limit", FieldKind::size, Face::everywhere, "\"1MiB\"",
     "What is kept of an attempt's output, its beginning and its end; 0: all; default: 64MiB", 1024, 0},
    {"require", FieldKind::labels, Face::everywhere, "{\"zone\": \"a\"}",
     "Labels of a worker that may run it, each of them with just this value"},

    {"queue", FieldKind::text, Face::everywhere, "\"default\"", "The queue it waits in; default: `default`", 0, 0,
     kName, kNameWords},
    {"priority", FieldKind::whole, Face::everywhere, "10",
     "Of two jobs of one share the higher comes first; default: 0", 0, 9999},
    {"share", FieldKind::text, Face::everywhere, "\"physics\"",
     "The share that it is counted to, where a queue is shared fairly", 0, 0, "[A-Za-z0-9_.\\-]{1,255}",
     "a name: letters, digits, '_', '.' and '-', at most 255 of them"},
    {"after", FieldKind::after, Face::everywhere, "[\"prepare\", {\"job\": \"split\", \"each\": true}]",
     "Jobs that must succeed first, by id, unique beginning of one, or name; with `each` every item waits for the item "
     "of the same index only",
     0, 20},
    {"sequential", FieldKind::flag, Face::everywhere, "true",
     "One item after another, in order; one that fails stops the job"},
    {"max_running", FieldKind::whole, Face::everywhere, "50", "So many items at a time, at most", 1, kMost64},

    {"timeout", FieldKind::time, Face::everywhere, "\"10m\"", "An attempt that runs longer is stopped, and not retried",
     1, kLongest},
    {"grace", FieldKind::time, Face::everywhere, "\"30s\"", "Time between SIGTERM and SIGKILL; default: 30s", 0,
     kLongest},
    {"job_timeout", FieldKind::time, Face::everywhere, "\"12h\"", "A job that takes longer is stopped", 1, kLongest},
    {"retries", FieldKind::whole, Face::everywhere, "2", "More tries for an item that failed; default: 0", 0,
     1'000'000},
    {"retry_delay", FieldKind::time, Face::everywhere, "\"1m\"", "Time before a retry; default: 0s", 0, kLongest},
    {"rules", FieldKind::rules, Face::everywhere, "[{\"onExitCode\": \"75\", \"action\": \"RETRY\"}]",
     "What is retried, in AWS Batch's words; the first rule that matches counts"},
    {"max_failures", FieldKind::whole, Face::everywhere, "10",
     "When more items than this have failed for good, the job stops", 0, kMost64},
    {"lost_limit", FieldKind::whole, Face::everywhere, "20",
     "An item whose machine went away this often is given up; default: 20", 1, 1'000'000},
    {"client_token", FieldKind::text, Face::everywhere, "\"2026-11-15\"",
     "The same token again is the same job, not another", 0, 0, "", "a text"},
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
    case FieldKind::time: return "a time such as 30s, 10m or 2h";
    case FieldKind::size: return "a size such as 512MiB or 4GiB";
    case FieldKind::choice: {
      std::string words(field.pattern);
      for (std::size_t at = words.find('|'); at != std::string::npos; at = words.find('|'))
        words.replace(at, 1, " or ");
      return words;
    }
    case FieldKind::command: return "a list of words";
    case FieldKind::settings: return "an object of names and values";
    case FieldKind::labels: return "an object of names and texts";
    case FieldKind::texts: return "a list of texts";
    case FieldKind::accelerators: return "an object of kinds and whole numbers";
    case FieldKind::after: return concat("a list of at most ", field.most, " jobs");
    case FieldKind::rules: return "a list of rules";
    case FieldKind::items: return "a list of texts, or of objects";
    case FieldKind::range: return "the first and the last number";
    case FieldKind::map: return "an object of paths and what they become";
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
