#include "base/check.h"

#include <chrono>
#include <csignal>
#include <cstdio>
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
  // On a thread of its own, since nothing else that is portable can be left waiting.
  const auto printed = std::make_shared<std::promise<void>>();
  std::future<void> is_printed = printed->get_future();
  std::thread([printed, text] {
    std::fputs(text.c_str(), stderr);
    printed->set_value();
  }).detach();
  is_printed.wait_for(kPatience);
  // Not abort() alone: where a sanitizer takes its place, it waits for the stream that the thread is stuck with. A
  // handler stays in place: a fuzzer's saves the input.
  std::raise(SIGABRT);
  std::abort();
}

}  // namespace drover
