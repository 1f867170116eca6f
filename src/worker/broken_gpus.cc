#include "worker/broken_gpus.h"

#include "base/text.h"

namespace drover {

std::vector<std::string> BrokenGpus::look() {
  std::vector<std::string> out;
  if (machine_ == nullptr || machine_->monitor == nullptr) return out;
  for (const GpuFailure& failure : machine_->monitor->take_failures()) {
    if (reasons_.emplace(failure.gpu, failure.reason).second) out.push_back(failure.gpu);
  }
  return out;
}

void BrokenGpus::keep_from_others() {
  for (const auto& [gpu, reason] : reasons_) {
    if (kept_.contains(gpu)) continue;
    auto grant = machine_->pool.take_gpu(gpu);
    if (grant && *grant) kept_.emplace(gpu, std::move(**grant));
  }
}

std::string BrokenGpus::one_of(const std::set<std::string>& gpus) const {
  for (const std::string& gpu : gpus) {
    if (reasons_.contains(gpu)) return gpu;
  }
  return {};
}

std::string BrokenGpus::what_failed(const std::string& gpu) const {
  return concat("GPU ", gpu, " failed: ", reasons_.at(gpu));
}

}  // namespace drover
