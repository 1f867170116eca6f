#include "logs/attempt_search.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <utility>

#include "base/text.h"

namespace drover {
namespace {

/// Then lines have to be looked at one by one.
bool speaks_of_the_whole_text(std::string_view pattern) {
  for (std::size_t at = pattern.find("(?"); at != std::string_view::npos; at = pattern.find("(?", at + 2)) {
    const std::string_view rest = pattern.substr(at + 2);
    if (!rest.starts_with(':') && !rest.starts_with('P') && !rest.starts_with('<')) return true;
  }
  return pattern.find("\\A") != std::string_view::npos || pattern.find("\\z") != std::string_view::npos;
}

/// Sixteen bytes at a time: whole logs pass through here.
std::size_t count_lines(std::string_view bytes) {
  using Lanes [[gnu::vector_size(16)]] = signed char;
  constexpr std::size_t kMostRounds = 127;  // a lane counts no further
  std::size_t count = 0;
  while (bytes.size() >= sizeof(Lanes)) {
    Lanes counts{};
    const std::size_t rounds = std::min(kMostRounds, bytes.size() / sizeof(Lanes));
    for (std::size_t round = 0; round < rounds; ++round) {
      Lanes some;
      std::memcpy(&some, bytes.data() + round * sizeof some, sizeof some);
      counts -= some == '\n';
    }
    bytes.remove_prefix(rounds * sizeof(Lanes));
    std::array<signed char, sizeof(Lanes)> each{};
    std::memcpy(each.data(), &counts, sizeof counts);
    for (const signed char lane : each) count += static_cast<std::size_t>(lane);
  }
  return count + static_cast<std::size_t>(std::ranges::count(bytes, '\n'));
}

}  // namespace

Result<std::unique_ptr<const SearchPattern>> SearchPattern::parse(const SearchOptions& options) {
  RE2::Options how(RE2::Quiet);
  how.set_case_sensitive(!options.ignore_case);
  how.set_log_errors(false);
  // Lines begin and end where they do, also when many are looked at together.
  auto expression = std::make_unique<RE2>(concat("(?m)", options.pattern), how);
  if (const RE2 alone(options.pattern, how); !alone.ok() || !expression->ok()) {
    return fail(ErrorCode::bad_input, concat("invalid regular expression '", options.pattern, "': ", alone.error()),
                "see https://github.com/google/re2/wiki/Syntax, or enclose plain text in \\Q and \\E");
  }
  return std::unique_ptr<const SearchPattern>(new SearchPattern(options, std::move(expression)));
}

SearchPattern::SearchPattern(SearchOptions options, std::unique_ptr<RE2> expression)
    : options_(std::move(options)),
      expression_(std::move(expression)),
      is_line_by_line_(speaks_of_the_whole_text(options_.pattern)),
      parts_(options_.pattern, options_.ignore_case) {}

SearchPattern::~SearchPattern() = default;

bool AttemptSearch::look(const LineBlock& block) {
  const bool wanted = (!options_.only_stderr || block.stream == LogStream::err) && block.time_ms >= options_.since_ms &&
                      block.stream != LogStream::note;
  const bool is_fast = options_.context == 0 && !pattern_.is_line_by_line();
  return is_fast ? look_fast(block, wanted) : look_with_context(block, wanted);
}

void AttemptSearch::pass_over(std::string_view lines) {
  line_ += count_lines(lines);
}

bool AttemptSearch::matches(std::string_view line) const {
  return RE2::PartialMatch({line.data(), line.size()}, pattern_.expression());
}

/// The whole block at once: most of it has no match, and lines are told apart only where there is one.
bool AttemptSearch::look_fast(const LineBlock& block, bool wanted) {
  std::string_view rest = block.bytes;
  while (wanted && !rest.empty()) {
    re2::StringPiece found;
    const RE2& expression = pattern_.expression();
    if (!expression.Match({rest.data(), rest.size()}, 0, rest.size(), RE2::UNANCHORED, &found, 1)) break;
    // A match may reach over the end of a line; so the line that it begins in is asked alone.
    const auto at = std::min(static_cast<std::size_t>(found.data() - rest.data()), rest.size() - 1);
    const std::size_t before = at == 0 ? std::string_view::npos : rest.rfind('\n', at - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::size_t newline = rest.find('\n', begin);
    const std::size_t end = newline == std::string_view::npos ? rest.size() : newline;
    line_ += count_lines(rest.substr(0, begin));
    if (matches(rest.substr(begin, end - begin)) && !hit(block, line_ + 1, rest.substr(begin, end - begin), true)) {
      return false;
    }
    line_ += 1;
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  line_ += count_lines(rest) + (rest.empty() || rest.ends_with('\n') ? 0 : 1);
  return true;
}

bool AttemptSearch::hit(const LineBlock& block, std::uint64_t number, std::string_view text, bool is_match) {
  if (is_match) ++matches_;
  if (options_.only_count) return true;
  const bool gap = options_.context > 0 && last_shown_ > 0 && number > last_shown_ + 1;
  last_shown_ = number;
  return emit_({key_, block.stream, block.time_ms, number, is_match, gap, text});
}

bool AttemptSearch::look_with_context(const LineBlock& block, bool wanted) {
  for (std::string_view rest = block.bytes; !rest.empty();) {
    const std::size_t newline = rest.find('\n');
    const std::string_view line = rest.substr(0, newline);
    rest.remove_prefix(newline == std::string_view::npos ? rest.size() : newline + 1);
    ++line_;
    if (wanted && matches(line)) {
      for (const auto& [number, before, text] : before_) {
        const LineBlock of{before.stream, before.time_ms, {}};
        if (number > last_shown_ && !hit(of, number, text, false)) return false;
      }
      before_.clear();
      if (!hit(block, line_, line, true)) return false;
      after_left_ = options_.context;
    } else if (after_left_ > 0) {
      --after_left_;
      if (!hit(block, line_, line, false)) return false;
    } else {
      before_.push_back({line_, {block.stream, block.time_ms, {}}, std::string(line)});
      if (before_.size() > options_.context) before_.pop_front();
    }
  }
  return true;
}

void UnsearchedParts::note(const std::vector<LogDamage>& of_one_attempt) {
  std::set<std::uint64_t> met;
  for (const LogDamage& damage : of_one_attempt) {
    OfSegment& it = segments_[damage.segment];
    if (it.parts.empty()) it.reason = damage.reason;
    std::uint64_t& bytes = it.parts[damage.offset];
    bytes = std::max(bytes, damage.bytes);
    if (met.insert(damage.segment).second) ++it.attempts;
  }
}

void UnsearchedParts::add(const UnsearchedParts& others) {
  for (const auto& [segment, other] : others.segments_) {
    OfSegment& it = segments_[segment];
    if (it.parts.empty()) it.reason = other.reason;
    it.attempts += other.attempts;
    for (const auto& [offset, bytes] : other.parts) it.parts[offset] = std::max(it.parts[offset], bytes);
  }
}

std::vector<UnsearchedLog> UnsearchedParts::list() const {
  std::vector<UnsearchedLog> out;
  for (const auto& [segment, it] : segments_) {
    out.push_back(
        {.segment = segment, .parts = it.parts.size(), .bytes = 0, .attempts = it.attempts, .reason = it.reason});
    for (const auto& [offset, bytes] : it.parts) out.back().bytes += bytes;
  }
  return out;
}

}  // namespace drover
