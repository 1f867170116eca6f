// Trouble with the server, told once and not again before it is over or has become another.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/text.h"

namespace drover {

class ProblemNotices {
 public:
  /// Each has its own troubles: while the server refuses reports for want of room for logs, polls without any succeed.
  enum class About : std::uint8_t { calls, reports, items };

  explicit ProblemNotices(std::function<void(const std::string&)> notice) : notice_(std::move(notice)) {}

  /// By its kind: how much is left on a full disk, for example, changes all the time.
  void say(About about, const Error& error) {
    const auto [said, is_new] = said_.try_emplace(about, error.code);
    if (!is_new && std::exchange(said->second, error.code) == error.code) return;
    notice_(concat("the server: ", error.message, "; trying again"));
  }
  void is_over(About about) { said_.erase(about); }

 private:
  const std::function<void(const std::string&)> notice_;
  std::map<About, ErrorCode> said_;
};

}  // namespace drover
