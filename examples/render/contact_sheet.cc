// contact_sheet: pictures of a folder, in the order of their numbers, side by side on one dark sheet: all of them, or
// as many as fit, chosen at even distances.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <span>
#include <string_view>

#include "color.h"
#include "picture.h"

namespace render {

namespace {

constexpr int kGap = 3;
constexpr int kMargin = 12;
constexpr std::array<std::uint8_t, 3> kSheetColor{13, 15, 19};

/// How the prints are laid out.
struct Layout {
  int columns = 12;
  int rows = 10;
  int shrink = 1;  // prints are this many times smaller than the pictures
};

struct Numbered {
  std::uint64_t number;
  std::string path;
};

std::expected<std::vector<Numbered>, Trouble> pictures_in(const std::string& folder) {
  std::error_code error;
  std::vector<Numbered> pictures;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() != ".png") continue;
    const std::string stem = entry.path().stem().string();
    std::uint64_t number = 0;
    const auto [end, bad] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
    if (bad == std::errc{} && end == stem.data() + stem.size()) pictures.push_back({number, entry.path().string()});
  }
  if (error) return trouble(fmt::format("cannot read the folder {}: {}", folder, error.message()), "check the path");
  if (pictures.empty()) {
    return trouble(fmt::format("there is no picture called NUMBER.png in {}", folder), "render some views first");
  }
  std::ranges::sort(pictures, {}, &Numbered::number);
  return pictures;
}

/// Puts a picture on the sheet, each square of shrink by shrink pixels averaged as light.
void print_small(const Picture& picture, int shrink, Picture& sheet, int left, int top) {
  const float share = 1 / static_cast<float>(shrink * shrink);
  for (int row = 0; row < picture.height / shrink; ++row) {
    for (int column = 0; column < picture.width / shrink; ++column) {
      std::array<float, 3> sum{};
      for (int y = 0; y < shrink; ++y) {
        for (int x = 0; x < shrink; ++x) {
          const std::uint8_t* from = picture.at(column * shrink + x, row * shrink + y);
          for (std::size_t i = 0; i < 3; ++i) sum[i] += from_srgb_byte(from[i]);
        }
      }
      std::uint8_t* to = sheet.at(left + column, top + row);
      for (std::size_t i = 0; i < 3; ++i) to[i] = to_srgb_byte(sum[i] * share);
    }
  }
}

/// As many as the sheet has places for, the first and then one after each even step.
std::vector<Numbered> chosen(const std::vector<Numbered>& pictures, Layout layout) {
  const std::size_t places = static_cast<std::size_t>(layout.columns) * layout.rows;
  if (pictures.size() <= places) return pictures;
  std::vector<Numbered> result;
  result.reserve(places);
  for (std::size_t i = 0; i < places; ++i) result.push_back(pictures[i * pictures.size() / places]);
  return result;
}

std::expected<Picture, Trouble> make_sheet(const std::vector<Numbered>& pictures, Layout layout) {
  const auto first = read_png(pictures.front().path);
  if (!first) return std::unexpected(first.error());
  const int width = first->width / layout.shrink + kGap;
  const int height = first->height / layout.shrink + kGap;
  const int rows = (static_cast<int>(pictures.size()) + layout.columns - 1) / layout.columns;
  Picture sheet(layout.columns * width - kGap + 2 * kMargin, rows * height - kGap + 2 * kMargin);
  for (std::size_t i = 0; i < sheet.bytes.size(); ++i) sheet.bytes[i] = kSheetColor[i % 3];
  for (int i = 0; i < static_cast<int>(pictures.size()); ++i) {
    const std::string& path = pictures[static_cast<std::size_t>(i)].path;
    const auto picture = read_png(path);
    if (!picture) return std::unexpected(picture.error());
    if (picture->width != first->width || picture->height != first->height) {
      return trouble(fmt::format("{} is {} x {}, the others {} x {}", path, picture->width, picture->height,
                                 first->width, first->height),
                     "take it away, or render all views at one width");
    }
    print_small(*picture, layout.shrink, sheet, kMargin + i % layout.columns * width,
                kMargin + i / layout.columns * height);
  }
  return sheet;
}

constexpr const char* kUsage = "contact_sheet PICTURES SHEET.png [COLUMNS ROWS [SHRINK]]";

/// Reads the optional numbers after the two paths.
std::expected<Layout, Trouble> parse_layout(std::span<char*> numbers) {
  Layout layout;
  const std::array<int*, 3> places{&layout.columns, &layout.rows, &layout.shrink};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view text = numbers[i];
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), *places[i]);
    if (bad != std::errc{} || end != text.data() + text.size() || *places[i] < 1 || *places[i] > 1000) {
      return trouble(fmt::format("'{}' is not a number from 1 to 1000", text), kUsage);
    }
  }
  return layout;
}

int run(std::span<char*> arguments) {
  if (arguments.size() < 2 || arguments.size() > 5 || arguments.size() == 3) {
    return complain("contact_sheet", {"it takes a folder, a file, and perhaps columns and rows", kUsage});
  }
  const auto layout = parse_layout(arguments.subspan(2));
  if (!layout) return complain("contact_sheet", layout.error());
  const auto pictures = pictures_in(arguments[0]);
  if (!pictures) return complain("contact_sheet", pictures.error());
  const std::vector<Numbered> prints = chosen(*pictures, *layout);
  const auto sheet = make_sheet(prints, *layout);
  if (!sheet) return complain("contact_sheet", sheet.error());
  if (const auto written = write_png(*sheet, arguments[1]); !written) return complain("contact_sheet", written.error());
  fmt::print("{}: {} of {} pictures, {} x {}\n", arguments[1], prints.size(), pictures->size(), sheet->width,
             sheet->height);
  return 0;
}

}  // namespace

}  // namespace render

int main(int count, char** arguments) {
  return render::run(std::span(arguments, static_cast<std::size_t>(count)).subspan(1));
}
