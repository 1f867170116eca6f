// make_views: prints the list of views to render as JSON lines. Each scene is seen from twenty-five sides, in the
// order of the camera's walk around it; from scene to scene the hue goes once around the circle.
#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <span>
#include <string_view>

#include "light.h"
#include "material.h"
#include "shape.h"
#include "trouble.h"

namespace render {

namespace {

constexpr std::uint32_t kViewsOfScene = 25;
constexpr std::uint32_t kStumbleEvery = 50;

std::string_view pick(const auto& names, std::uint32_t number) {
  return names[number % names.size()];
}

void print_view(std::uint32_t view, std::uint32_t scenes) {
  const std::uint32_t scene = view / kViewsOfScene;
  const std::uint32_t side = view % kViewsOfScene;
  // Shape goes round with every scene; the others step once more with each round, so that all pairs come up.
  const std::uint32_t round = scene / 5;
  const double angle = 360.0 * side / kViewsOfScene;
  const double height = 23 + 5 * std::cos(2 * kPi * side / kViewsOfScene + scene);
  fmt::print(
      R"({{"view":{},"angle":{:.1f},"height":{:.1f},"shape":"{}","material":"{}","hue":{},"light":"{}","seed":{},"stumble":{}}})"
      "\n",
      view, angle, height, pick(kShapeNames, scene), pick(kMaterialNames, scene + round), 360 * scene / scenes,
      pick(kLightNames, 2 * scene + round), scene, view % kStumbleEvery == 0);
}

int run(std::span<char*> arguments) {
  std::uint32_t count = 1000;
  if (!arguments.empty()) {
    const std::string_view text = arguments[0];
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (arguments.size() > 1 || bad != std::errc{} || end != text.data() + text.size() || count == 0) {
      return complain("make_views", {fmt::format("'{}' is not how many views to make", fmt::join(arguments, " ")),
                                     "make_views [COUNT] > views.jsonl"});
    }
  }
  const std::uint32_t scenes = (count + kViewsOfScene - 1) / kViewsOfScene;
  for (std::uint32_t view = 0; view < count; ++view) print_view(view, scenes);
  return 0;
}

}  // namespace

}  // namespace render

int main(int count, char** arguments) {
  return render::run(std::span(arguments, static_cast<std::size_t>(count)).subspan(1));
}
