// render: one view of a still life, path traced to a small PNG. See README.md.
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "denoise.h"
#include "options.h"
#include "tone.h"
#include "tracer.h"

namespace render {

namespace {

bool is_first_attempt() {
  const char* attempt = std::getenv("DROVER_ATTEMPT");
  return attempt != nullptr && std::string_view(attempt) == "1";
}

std::string_view name_of(const auto& names, auto kind) {
  return names[static_cast<std::size_t>(kind)];
}

/// Over the finished picture as stored, 0 to 1.
double mean_brightness(const Picture& picture) {
  double sum = 0;
  for (const std::uint8_t byte : picture.bytes) sum += byte;
  return sum / (255.0 * static_cast<double>(picture.bytes.size()));
}

int run(std::span<char*> arguments) {
  if (!arguments.empty() && std::string_view(arguments[0]) == "--help") {
    fmt::print("{}", usage());
    return 0;
  }
  const auto options = parse_options(arguments);
  if (!options) return complain("render", options.error());
  const Subject& subject = options->subject;
  const std::string view = std::filesystem::path(options->out).stem().string();
  if (options->stumbles && is_first_attempt()) {
    fmt::print(stderr, "render: lost the scene cache of view {} (simulated)\n", view);
    return 3;
  }

  const int width = options->width;
  const int height = width * 3 / 4;
  fmt::print("view {}: a {} {} in {} light, {} x {}\n", view, name_of(kMaterialNames, subject.material),
             name_of(kShapeNames, subject.shape), name_of(kLightNames, subject.light), width, height);
  const auto start = std::chrono::steady_clock::now();
  const Scene scene(subject);
  Traced traced = trace(scene, Camera(options->angle, options->height), width, height, options->samples, subject.seed);
  denoise(traced.film);
  const Picture picture = develop(traced.film);
  if (const auto written = write_png(picture, options->out); !written) return complain("render", written.error());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  fmt::print("done in {:.3f} s: {:.1f} samples a pixel, {:.2f} million rays, mean brightness {:.3f}\n", took.count(),
             static_cast<double>(traced.paths) / (static_cast<double>(width) * height),
             static_cast<double>(traced.rays) / 1e6, mean_brightness(picture));
  return 0;
}

}  // namespace

}  // namespace render

int main(int count, char** arguments) {
  return render::run(std::span(arguments, static_cast<std::size_t>(count)).subspan(1));
}
