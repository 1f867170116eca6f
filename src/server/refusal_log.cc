#include "server/refusal_log.h"

#include "base/text.h"
#include "base/units.h"

namespace drover {
namespace {

constexpr std::uint64_t kMostASecond = 20;

}  // namespace

void RefusalLog::add(std::string_view line, std::int64_t now_ms) {
  const std::scoped_lock lock(mutex_);
  if (now_ms - since_ms_ >= 1000) {
    if (left_out_ > 0) log_.info(concat(plural(left_out_, "more request"), " refused"));
    since_ms_ = now_ms;
    said_ = left_out_ = 0;
  }
  if (said_ >= kMostASecond) {
    ++left_out_;
    return;
  }
  ++said_;
  log_.info(line);
}

}  // namespace drover
