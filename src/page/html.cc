#include "page/html.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/check.h"
#include "screen/plain_text.h"

namespace drover::page {
namespace {

std::tm local(std::int64_t epoch_ms) {
  const auto seconds = static_cast<std::time_t>(epoch_ms / 1000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  return parts;
}

}  // namespace

std::string html_text(std::string_view bytes, std::size_t most_cells) {
  std::string out;
  for (const char c : plain_text(bytes, most_cells)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

// Only strings contain these characters, and there an escape means the same.
std::string inside_script(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<': out += "\\u003c"; break;
      case '>': out += "\\u003e"; break;
      case '&': out += "\\u0026"; break;
      default: out += c;
    }
  }
  return out;
}

std::string fill(std::string_view skeleton,
                 std::initializer_list<std::pair<std::string_view, std::string_view>> marks) {
  std::string out;
  while (true) {
    const std::size_t open = skeleton.find("{{");
    out += skeleton.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = skeleton.find("}}", open);
    DROVER_CHECK(close != std::string_view::npos, "a mark that does not end");
    const std::string_view name = skeleton.substr(open + 2, close - open - 2);
    const auto* mark = std::ranges::find(marks, name, [](const auto& it) { return it.first; });
    DROVER_CHECK(mark != marks.end(), name);
    out += mark->second;
    skeleton.remove_prefix(close + 2);
  }
}

std::string local_time(std::int64_t epoch_ms) {
  const std::tm parts = local(epoch_ms);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S %Z", &parts)};
}

std::int64_t utc_offset_minutes(std::int64_t epoch_ms) {
  return local(epoch_ms).tm_gmtoff / 60;
}

}  // namespace drover::page
