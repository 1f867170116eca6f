// The field that was meant where there is none of the name.
#include <algorithm>
#include <vector>

#include "base/nearest_word.h"
#include "wire/job_fields.h"

namespace drover {
namespace {

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

std::string_view nearest(std::string_view written, std::span<const std::string_view> words) {
  constexpr std::size_t kLongest = 64;  // nobody meant anything by more
  const std::string wanted = folded(written);
  if (wanted.empty() || wanted.size() > kLongest) return {};
  std::vector<std::string> known;
  for (const std::string_view word : words) known.push_back(folded(word));
  const auto found = std::ranges::find(known, nearest_word(wanted, known));
  return found == known.end() ? std::string_view() : words[static_cast<std::size_t>(found - known.begin())];
}

std::string_view meant_field(std::string_view written) {
  const std::string wanted = folded(written);
  for (const Slip& slip : kSlips) {
    if (folded(slip.written) == wanted) return slip.meant;
  }
  std::vector<std::string_view> names;
  for (const JobField& field : job_fields()) names.push_back(field.name);
  return nearest(written, names);
}

}  // namespace drover
