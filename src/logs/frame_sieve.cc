#include "logs/frame_sieve.h"

#include <re2/filtered_re2.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"

namespace drover {
namespace {

constexpr int kShortestAtom = 3;
// With more of them, looking for each takes longer than the expression itself.
constexpr std::size_t kMostAtoms = 3;
constexpr std::size_t kMostSifted = 16;

/// Characters that are written as numbers may be others in small letters than in ASCII.
bool is_plain(std::string_view pattern) {
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (static_cast<unsigned char>(pattern[i]) >= 0x80) return false;
    if (pattern[i] != '\\') continue;
    ++i;
    if (i == pattern.size()) break;
    if (pattern[i] == 'x' || pattern[i] == 'C' || (pattern[i] >= '0' && pattern[i] <= '9')) return false;
  }
  return true;
}

/// The pattern with a NUL for each class that has no letters, such as [0-9]: nothing in one is part of a word.
std::string without_classes(std::string_view pattern) {
  std::string out;
  while (!pattern.empty()) {
    const std::size_t end = pattern.front() == '[' ? pattern.find(']', 2) : std::string_view::npos;
    const std::string_view inside = end == std::string_view::npos ? "" : pattern.substr(1, end - 1);
    const bool is_plain = std::ranges::all_of(inside, [](char c) {
      return (c >= '0' && c <= '9') || c == '-' || c == ' ' || c == '.' || c == ',' || c == '_';
    });
    if (end == std::string_view::npos || !is_plain) {
      out += pattern.front();
      pattern.remove_prefix(1);
      continue;
    }
    out += '\0';
    pattern.remove_prefix(end + 1);
  }
  return out;
}

/// As in_small_letters(), but eight bytes at a time and into a buffer that is there: whole frames pass through here.
void small_letters(std::string_view text, std::string& out) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHigh = 0x80 * kOnes;
  out.resize(text.size());
  std::size_t at = 0;
  for (; at + 8 <= text.size(); at += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + at, 8);
    const std::uint64_t low = eight & ~kHigh;
    const std::uint64_t from_a = low + (0x80 - 'A') * kOnes;
    const std::uint64_t beyond_z = low + (0x7f - 'Z') * kOnes;
    const std::uint64_t capitals = ~eight & (from_a ^ beyond_z) & kHigh;
    eight |= capitals >> 2;
    std::memcpy(out.data() + at, &eight, 8);
  }
  for (; at < text.size(); ++at) {
    const char c = text[at];
    out[at] = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
}

bool is_ascii(std::string_view text) {
  std::uint64_t seen = 0;
  for (; text.size() >= 8; text.remove_prefix(8)) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data(), 8);
    seen |= eight;
  }
  for (const char c : text) seen |= static_cast<unsigned char>(c);
  return (seen & 0x8080808080808080) == 0;
}

}  // namespace

LiteralParts::LiteralParts(const std::string& pattern, bool ignore_case)
    : only_ascii_(ignore_case || pattern.find("(?") != std::string::npos) {
  if (!is_plain(pattern)) return;
  RE2::Options how(RE2::Quiet);
  how.set_case_sensitive(!ignore_case);
  how.set_log_errors(false);
  auto filter = std::make_unique<re2::FilteredRE2>(kShortestAtom);
  int id = 0;
  if (filter->Add(concat("(?m)", pattern), how, &id) != RE2::NoError) return;
  filter->Compile(&atoms_);
  if (atoms_.size() > kMostAtoms) atoms_.clear();
  filter_ = std::move(filter);
  // Where letters stand for themselves only, and once each, the parts are in the pattern as they are in the text.
  const std::string plain = without_classes(pattern);
  are_exact_ = !ignore_case && plain.find_first_of("[(|\\{") == std::string::npos;
  const std::string small = in_small_letters(plain);
  std::vector<std::string> exact;
  for (const std::string& atom : atoms_) {
    const std::size_t at = small.find(atom);
    are_exact_ = are_exact_ && at != std::string::npos && small.find(atom, at + 1) == std::string::npos;
    if (are_exact_) exact.push_back(plain.substr(at, atom.size()));
  }
  if (are_exact_) atoms_ = std::move(exact);
}

LiteralParts::~LiteralParts() = default;

bool LiteralParts::know(std::string_view text) const {
  return !only_ascii_ || is_ascii(text);
}

void LiteralParts::find(std::string_view text, std::string& scratch, std::vector<std::size_t>& places) const {
  places.clear();
  if (!are_exact_) {
    small_letters(text, scratch);
    text = scratch;
  }
  std::vector<int> present;
  for (std::size_t i = 0; i < atoms_.size(); ++i) {
    const std::string& atom = atoms_[i];
    const std::size_t before = places.size();
    const char* at = text.data();
    const char* const end = at + text.size();
    while ((at = static_cast<const char*>(
                ::memmem(at, static_cast<std::size_t>(end - at), atom.data(), atom.size()))) != nullptr) {
      places.push_back(static_cast<std::size_t>(at - text.data()));
      ++at;
    }
    if (places.size() > before) present.push_back(static_cast<int>(i));
  }
  std::vector<int> potential;
  filter_->AllPotentials(present, &potential);
  if (potential.empty()) places.clear();
}

const FrameSieve::Sifted& FrameSieve::sift(const FramePlace& place, std::string_view raw, const FrameIndex& index) {
  const auto known = std::ranges::find_if(
      recent_, [&](const Sifted& it) { return it.offset == place.offset && it.segment == place.segment; });
  if (known != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, known);
    return recent_.front();
  }
  if (recent_.size() == kMostSifted) recent_.pop_back();
  Sifted& sifted = recent_.emplace_front();
  sifted.segment = place.segment;
  sifted.offset = place.offset;
  parts_.find(raw, scratch_, places_);
  for (const std::size_t at : places_) {
    const LogKey* key = index.key_at(raw.data() + at);
    if (key != nullptr && (sifted.keys.empty() || sifted.keys.back() != *key)) sifted.keys.push_back(*key);
  }
  for (const LogRecord& record : index.records()) {
    if (!parts_.know(record.bytes)) sifted.keys.push_back(record.key);
  }
  std::ranges::sort(sifted.keys);
  const auto doubles = std::ranges::unique(sifted.keys);
  sifted.keys.erase(doubles.begin(), doubles.end());
  return sifted;
}

bool FrameSieve::may_match(const FramePlace& place, std::string_view raw, const FrameIndex& index, const LogKey& key) {
  if (parts_.empty()) return true;
  const Sifted& sifted = sift(place, raw, index);
  return std::ranges::binary_search(sifted.keys, key);
}

}  // namespace drover
