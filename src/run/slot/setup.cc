#include "run/slot/setup.h"

namespace drover::slot {

void Setup::read(std::span<const char> frame) {
  frame_.clear();
  FrameReader reader(frame_.emplace_back(frame).bytes());
  workdir = reader.text().data();
  environment.clear();
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    environment.push_back(reader.text().data());
  }
  log_limit = reader.get<std::uint64_t>();
  nice = reader.get<std::int32_t>();
}

void Setup::read_limits(std::span<const char> frame) {
  FrameReader reader(frame);
  memory_limit = reader.get<std::uint64_t>();
  address_space = reader.get<std::uint64_t>();
  processes = reader.get<std::uint64_t>();
  has_processors = reader.get<bool>();
  processors = reader.get<cpu_set_t>();
  std::vector<std::string> join;
  for (auto count = reader.get<std::uint64_t>(); count > 0 && reader.intact(); --count) {
    join.emplace_back(reader.text());
  }
  const std::string clone_into(reader.text());
  const std::string kill_counts(reader.text());
  cgroup.enter(std::move(join), clone_into, kill_counts);
}

}  // namespace drover::slot
