// Printing that cannot fail: whether anybody listens is no concern of the run.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

namespace drover {

inline void print_text(std::FILE* to, std::string_view text) {
  [[maybe_unused]] const auto written = std::fwrite(text.data(), 1, text.size(), to);
}

template <class... Values>
void show_on(std::FILE* to, fmt::format_string<Values...> format, Values&&... values) {
  print_text(to, fmt::format(format, std::forward<Values>(values)...));
}

template <class... Values>
void show(fmt::format_string<Values...> format, Values&&... values) {
  show_on(stdout, format, std::forward<Values>(values)...);
}

}  // namespace drover
