#include "options.h"

#include <fmt/format.h>

#include <charconv>
#include <functional>
#include <map>
#include <string_view>

namespace render {

namespace {

using Outcome = std::expected<void, Trouble>;

template <class Number>
Outcome read_number(std::string_view name, std::string_view text, Number low, Number high, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size() && number >= low && number <= high) return {};
  return trouble(fmt::format("{} '{}' is not a number from {} to {}", name, text, low, high),
                 "give a number in that range");
}

template <class Kind, std::size_t Kinds>
Outcome read_name(std::string_view name, std::string_view text, const std::array<std::string_view, Kinds>& names,
                  Kind& kind) {
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) {
    kind = static_cast<Kind>(found - names.begin());
    return {};
  }
  return trouble(fmt::format("{} '{}' is not known", name, text),
                 fmt::format("give one of {}", fmt::join(names, ", ")));
}

Outcome read_flag(std::string_view name, std::string_view text, bool& flag) {
  if (text != "true" && text != "false") {
    return trouble(fmt::format("{} '{}' is neither true nor false", name, text), "give one of the two");
  }
  flag = text == "true";
  return {};
}

Outcome read_samples(std::string_view name, std::string_view text, std::uint32_t& samples) {
  if (Outcome read = read_number(name, text, Sampler::kRound, 65536U, samples); !read) return read;
  const std::uint32_t rounds = samples / Sampler::kRound;
  if (samples == rounds * Sampler::kRound) return {};
  return trouble(fmt::format("{} {} is not a multiple of {}", name, samples, Sampler::kRound),
                 fmt::format("give {} or {}", rounds * Sampler::kRound, (rounds + 1) * Sampler::kRound));
}

Outcome read_option(Options& options, std::string_view name, std::string_view text) {
  using Reader = std::function<Outcome()>;
  Subject& subject = options.subject;
  const std::map<std::string_view, Reader> readers{
      {"--angle", [&] { return read_number(name, text, -3600.0F, 3600.0F, options.angle); }},
      {"--height", [&] { return read_number(name, text, 5.0F, 85.0F, options.height); }},
      {"--shape", [&] { return read_name(name, text, kShapeNames, subject.shape); }},
      {"--material", [&] { return read_name(name, text, kMaterialNames, subject.material); }},
      {"--hue", [&] { return read_number(name, text, -3600.0F, 3600.0F, subject.hue); }},
      {"--light", [&] { return read_name(name, text, kLightNames, subject.light); }},
      {"--seed", [&] { return read_number(name, text, 0U, 4294967295U, subject.seed); }},
      {"--width", [&] { return read_number(name, text, 16, 4096, options.width); }},
      {"--samples", [&] { return read_samples(name, text, options.samples); }},
      {"--stumble", [&] { return read_flag(name, text, options.stumbles); }},
      {"--out",
       [&] {
         options.out = text;
         return Outcome{};
       }},
  };
  const auto reader = readers.find(name);
  if (reader == readers.end()) return trouble(fmt::format("there is no option '{}'", name), "render --help");
  return reader->second();
}

}  // namespace

std::string usage() {
  const Options defaults;
  return fmt::format(
      R"(Renders one view of a still life to a small PNG: render --out FILE [OPTIONS]

  --out FILE        The picture; its folder must exist
  --angle DEGREES   Where the camera stands around the scene (default: {})
  --height DEGREES  How far above the horizon it stands, 5 to 85 (default: {})
  --shape NAME      What stands in the middle: {}
  --material NAME   What it is made of: {}
  --hue DEGREES     Its colour; the others are chosen to go with it (default: {})
  --light NAME      {}
  --seed N          What stands around it, and the paths taken (default: {})
  --width PIXELS    Width of the picture; it is three quarters as high (default: {})
  --samples N       The most paths for each pixel, a multiple of {} (default: {})
  --stumble BOOL    true: fail on drover's first attempt, to show what a retry does

Example:
  render --angle 40 --shape ring --material glass --light dusk --seed 3 --out ring.png
)",
      defaults.angle, defaults.height, fmt::join(kShapeNames, ", "), fmt::join(kMaterialNames, ", "),
      defaults.subject.hue, fmt::join(kLightNames, ", "), defaults.subject.seed, defaults.width, Sampler::kRound,
      defaults.samples);
}

std::expected<Options, Trouble> parse_options(std::span<char*> arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    if (i + 1 == arguments.size()) {
      return trouble(fmt::format("'{}' has no value after it", arguments[i]), "render --help");
    }
    if (auto read = read_option(options, arguments[i], arguments[i + 1]); !read) return std::unexpected(read.error());
  }
  if (options.out.empty()) return trouble("there is no --out", "say where the picture goes, such as --out view.png");
  return options;
}

}  // namespace render
