#include "server/failure_log.h"

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kMostASecond = 20;

}  // namespace

void FailureLog::add(const RequestLine& line) {
  const std::int64_t now_ns = steady_.elapsed_ns();
  const std::scoped_lock lock(mutex_);
  if (now_ns - since_ns_ >= kSecondNs) {
    if (left_out_ > 0) log_.info(concat(plural(left_out_, "more request"), " refused or failed"));
    since_ns_ = now_ns;
    said_ = left_out_ = 0;
  }
  if (said_ >= kMostASecond) {
    ++left_out_;
    return;
  }
  ++said_;
  log_.request(line);
}

}  // namespace drover
