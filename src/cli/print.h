// Printing that cannot fail: whether anybody listens is no concern of the run. What was lost of a verb's answer is told
// at its end.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <string_view>

namespace drover {

/// Why something could not be printed, as errno told it; 0: nothing was lost so far.
inline int lost_output_error = 0;

/// False: nobody reads it. That may be left alone.
inline bool print_text(std::FILE* to, std::string_view text) {
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), to) == text.size();
  if (!is_whole && to == stdout && lost_output_error == 0) lost_output_error = errno;
  return is_whole;
}

/// What was printed to standard output is where it should be, or there is nothing to hope for.
inline bool flush_output() {
  const bool is_whole = std::fflush(stdout) == 0;
  if (!is_whole && lost_output_error == 0) lost_output_error = errno;
  return is_whole;
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
