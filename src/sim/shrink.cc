#include "sim/shrink.h"

#include <algorithm>
#include <cctype>

namespace drover::sim {
namespace {

// Two failures are of one kind when they say the same about other numbers.
std::string kind_of(const std::string& failure) {
  std::string kind;
  for (const char c : failure) {
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) continue;
    if (c == '(' || c == ';') break;
    kind += c;
  }
  return kind;
}

class Shrinker {
 public:
  Shrinker(Script script, const std::string& failure, const Tryout& tryout, int most_tries)
      : script_(std::move(script)), kind_(kind_of(failure)), tryout_(tryout), tries_left_(most_tries) {}

  Script shrink() {
    std::size_t before = 0;
    do {
      before = script_.events.size();
      remove_chunks();
    } while (script_.events.size() < before && tries_left_ > 0);
    simplify_each();
    remove_chunks();
    return script_;
  }

 private:
  bool accept(Script smaller) {
    if (tries_left_-- <= 0) return false;
    if (!smaller.events.empty()) smaller.length_ms = smaller.events.back().at_ms;
    const auto failure = tryout_(smaller);
    if (!failure || kind_of(*failure) != kind_) return false;
    script_ = std::move(smaller);
    return true;
  }

  // Halves, then quarters, then single events, as long as something can go.
  void remove_chunks() {
    for (std::size_t size = std::max<std::size_t>(1, script_.events.size() / 2); size > 0; size /= 2) {
      for (std::size_t from = 0; from < script_.events.size();) {
        Script smaller = script_;
        const auto begin = smaller.events.begin() + static_cast<std::ptrdiff_t>(from);
        const auto end =
            smaller.events.begin() + static_cast<std::ptrdiff_t>(std::min(from + size, script_.events.size()));
        smaller.events.erase(begin, end);
        if (!accept(std::move(smaller))) from += size;
      }
    }
  }

  void simplify_each() {
    for (std::size_t i = 0; i < script_.events.size(); ++i) {
      if (const auto* submit = std::get_if<Submit>(&script_.events[i].what)) {
        for (std::uint64_t total = submit->total / 2; total > 0; total /= 2) {
          Script smaller = script_;
          std::get<Submit>(smaller.events[i].what).total = total;
          if (!accept(std::move(smaller))) break;
        }
      }
    }
    for (std::size_t i = 0; i < script_.events.size(); ++i) simplify_place(i);
    for (std::size_t i = 0; i < script_.workers.size(); ++i) {
      if (script_.workers[i].slots == 1) continue;
      Script smaller = script_;
      smaller.workers[i].slots = 1;
      accept(std::move(smaller));
    }
  }

  // A job like any other, in one respect after the other.
  void simplify_place(std::size_t event) {
    if (!std::holds_alternative<Submit>(script_.events[event].what)) return;
    const auto without = [&](auto Submit::* what) {
      const Submit plain;
      if (std::get<Submit>(script_.events[event].what).*what == plain.*what) return;
      Script smaller = script_;
      std::get<Submit>(smaller.events[event].what).*what = plain.*what;
      accept(std::move(smaller));
    };
    without(&Submit::after);
    without(&Submit::sequential);
    without(&Submit::max_running);
    without(&Submit::job_timeout_ms);
    without(&Submit::require);
    without(&Submit::ask);
    without(&Submit::place);
    without(&Submit::image);
  }

  Script script_;
  const std::string kind_;
  const Tryout& tryout_;
  int tries_left_;
};

}  // namespace

Script shrink(Script script, const std::string& failure, const Tryout& tryout, int most_tries) {
  return Shrinker(std::move(script), failure, tryout, most_tries).shrink();
}

}  // namespace drover::sim
