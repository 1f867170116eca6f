// The last line that somebody printed: often the one that says what went wrong.
#pragma once

#include <string>
#include <string_view>

namespace drover {

/// Sees the pieces of a stream as they come, and remembers the last line that is not blank, cut to kMost bytes.
class LastLine {
 public:
  static constexpr std::size_t kMost = 256;

  void see(std::string_view bytes);
  /// The line that is not yet ended counts, if there is something in it.
  const std::string& text() const { return has_words(current_) ? current_ : last_; }

 private:
  static bool has_words(std::string_view line);
  void add(std::string_view part);

  std::string current_;
  std::string last_;
};

}  // namespace drover
