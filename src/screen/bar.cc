#include "screen/bar.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

namespace drover {
namespace {

constexpr std::size_t kEighths = 8;
constexpr std::array<std::string_view, kEighths + 1> kBlocks = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};

enum class Paint : std::uint8_t { blank, failed, succeeded, cancelled };

std::string_view foreground(Paint paint) {
  return paint == Paint::failed ? "31" : paint == Paint::succeeded ? "32" : "90";
}

std::string_view background(Paint paint) {
  return paint == Paint::failed ? ";41" : paint == Paint::succeeded ? ";42" : paint == Paint::cancelled ? ";100" : "";
}

// One eighth after the other, from the left. Failures stand first: there they grow but do not move.
std::vector<Paint> paint_eighths(const BarParts& parts, std::size_t eighths) {
  std::vector<Paint> painted;
  painted.reserve(eighths);
  std::uint64_t items = 0;
  const auto lay = [&](Paint paint, std::uint64_t count) {
    if (count == 0) return;
    items += count;
    const double share = std::min(1.0, static_cast<double>(items) / static_cast<double>(std::max(parts.total, items)));
    const auto end = static_cast<std::size_t>(std::floor(share * static_cast<double>(eighths)));
    painted.resize(std::min(eighths, std::max(end, painted.size() + 1)), paint);
  };
  lay(Paint::failed, parts.failed);
  lay(Paint::succeeded, parts.succeeded);
  lay(Paint::cancelled, parts.cancelled);
  painted.resize(eighths, Paint::blank);
  return painted;
}

// A cell has two colours at most: the first eighth's in front, the last one's behind.
std::string coloured_cell(std::span<const Paint> cell) {
  const Paint front = cell.front();
  if (front == Paint::blank) return " ";
  const auto width = static_cast<std::size_t>(std::ranges::count(cell, front));
  std::string out = "\x1b[";
  out += foreground(front);
  if (width < kEighths) out += background(cell.back());
  out += 'm';
  out += kBlocks[width];
  return out + "\x1b[m";
}

std::string_view plain_cell(std::span<const Paint> cell) {
  const auto count = [&](Paint paint) { return static_cast<std::size_t>(std::ranges::count(cell, paint)); };
  if (count(Paint::failed) > kEighths / 2) return "▒";
  if (count(Paint::cancelled) > kEighths / 2) return "░";
  return kBlocks[kEighths - count(Paint::blank)];
}

}  // namespace

std::string draw_bar(const BarParts& parts, std::size_t cells, Colours colours) {
  const std::vector<Paint> eighths = paint_eighths(parts, cells * kEighths);
  std::string out;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    const auto own = std::span(eighths).subspan(cell * kEighths, kEighths);
    if (colours == Colours::on) {
      out += coloured_cell(own);
    } else {
      out += plain_cell(own);
    }
  }
  return out;
}

}  // namespace drover
