#include "base/check.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <thread>

namespace drover {
namespace {

// A process that must stop does not wait longer than this for whoever reads its standard error.
constexpr std::chrono::seconds kPatience{1};

}  // namespace

void check_failed(const char* file, int line, const char* condition, std::string_view why) {
  std::string text = "drover: internal error at ";
  text.append(file).append(":").append(std::to_string(line)).append(": ");
  text.append(why).append(" (").append(condition).append(")\n");
  // On a thread of its own, which can be left waiting; and past the C library's stream, whose lock somebody may hold.
  const auto printed = std::make_shared<std::promise<void>>();
  std::future<void> is_printed = printed->get_future();
  std::thread([printed, text] {
    std::string_view rest = text;
    while (!rest.empty()) {
      const ssize_t written = ::write(STDERR_FILENO, rest.data(), rest.size());
      if (written <= 0) break;
      rest.remove_prefix(static_cast<std::size_t>(written));
    }
    printed->set_value();
  }).detach();
  is_printed.wait_for(kPatience);
  std::abort();
}

}  // namespace drover
