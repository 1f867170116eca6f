// What the render program is asked for on its command line.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scene.h"
#include "trouble.h"

namespace render {

struct Options {
  Subject subject;
  float angle = 0;
  float height = 24;
  std::string out;
  int width = 96;
  std::uint32_t samples = 64;
  bool stumbles = false;
};

/// The usage text.
std::string usage();

/// Reads `--name value` pairs.
std::expected<Options, Trouble> parse_options(std::span<char*> arguments);

}  // namespace render
