#include "cli/notices_in_background.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/print.h"

namespace drover {
namespace {

BackgroundLines* background_notices = nullptr;

}  // namespace

NoticesInBackground::NoticesInBackground()
    : lines_(STDERR_FILENO, [](std::uint64_t count) {
        return fmt::format("drover: {} not shown: standard error was blocked\n", plural(count, "more notice"));
      }) {
  background_notices = &lines_;
}

NoticesInBackground::~NoticesInBackground() {
  background_notices = nullptr;
}

void print_to_error(std::string_view text) {
  if (background_notices != nullptr) {
    background_notices->write(text);
  } else {
    print_text(stderr, text);
  }
}

void flush_notices() {
  if (background_notices != nullptr) background_notices->flush();
}

}  // namespace drover
