// How long it takes to find out what a container with one GPU is given: what a slot does before its first container, in
// a worker's first slot and in later ones.
// Usage: inject_time SETTINGS TURNS; prints a line of JSON.
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "accel/inject.h"

namespace drover {
namespace {

int measure(const char* settings_file, int turns) {
  auto settings = read_accel_settings(settings_file, true);
  if (!settings) {
    std::fprintf(stderr, "%s\n", settings.error().message.c_str());
    return 1;
  }
  settings->takes_variables_of_all = true;
  OciFacts facts;
  facts.environment = {"NVIDIA_VISIBLE_DEVICES=0"};
  Injector injector(*settings, "/usr/bin/drover-hook");
  std::size_t mounts = 0;
  double first_seconds = 0;
  auto begun = std::chrono::steady_clock::now();
  for (int turn = 0; turn <= turns; ++turn) {
    const auto request = device_request(facts, *settings, AccelVendor::nvidia);
    const auto injection = request ? injector.inject(*request) : std::unexpected(request.error());
    if (!injection) {
      std::fprintf(stderr, "%s\n", injection.error().message.c_str());
      return 1;
    }
    mounts = injection->edits.mounts.size();
    if (turn > 0) continue;
    const auto now = std::chrono::steady_clock::now();
    first_seconds = std::chrono::duration<double>(now - begun).count();
    begun = now;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::printf("{\"first\": %.9f, \"seconds\": %.9f, \"mounts\": %zu}\n", first_seconds, took.count() / turns, mounts);
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  return argc == 3 ? drover::measure(argv[1], std::atoi(argv[2])) : 2;
}
