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
      for (const Happening& smaller : script_.events[i].what.smaller()) {
        if (!accept_instead(i, smaller)) break;
      }
    }
    for (std::size_t i = 0; i < script_.events.size(); ++i) make_plainer(i);
    for (std::size_t i = 0; i < script_.workers.size(); ++i) {
      if (script_.workers[i].slots == 1) continue;
      Script smaller = script_;
      smaller.workers[i].slots = 1;
      accept(std::move(smaller));
    }
  }

  // Without one of its traits after the other.
  void make_plainer(std::size_t event) {
    for (std::size_t tried = 0;;) {
      const std::vector<Happening> plainer = script_.events[event].what.plainer();
      if (tried >= plainer.size()) return;
      if (!accept_instead(event, plainer[tried])) ++tried;
    }
  }

  bool accept_instead(std::size_t event, const Happening& what) {
    Script smaller = script_;
    smaller.events[event].what = what;
    return accept(std::move(smaller));
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
