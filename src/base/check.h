// Assertions for programmer errors. They stay on in release: a machine that is wrong about its own state must stop.
#pragma once

#include <string_view>

namespace drover {

/// Prints where and what to stderr, unless nobody reads it, then aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view why);

}  // namespace drover

#define DROVER_CHECK(condition, why) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::drover::check_failed(__FILE__, __LINE__, #condition, why))
