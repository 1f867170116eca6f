#include "cli/event_lines.h"

namespace drover {

Result<void> EventLines::add(std::string_view piece) {
  rest_ += piece;
  std::size_t begin = 0;
  for (std::size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    std::string_view text = std::string_view(rest_).substr(begin, end - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    if (auto taken = line(text); !taken) return taken;
    begin = end + 1;
  }
  rest_.erase(0, begin);
  return {};
}

Result<void> EventLines::line(std::string_view text) {
  if (text.empty()) {
    const bool is_whole = has_data_;
    const SentEvent event = event_;
    event_ = {.id = event.id, .kind = {}, .data = {}};
    has_data_ = false;
    return is_whole ? take_(event) : Result<void>();
  }
  const std::size_t colon = text.find(':');
  if (colon == 0) return {};  // a sign of life
  const std::string_view name = text.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "id") event_.id = value;
  if (name == "event") event_.kind = value;
  if (name == "data") {
    if (has_data_) event_.data += '\n';
    event_.data += value;
    has_data_ = true;
  }
  return {};
}

}  // namespace drover
