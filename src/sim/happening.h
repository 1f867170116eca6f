// Something that happens to the world at one moment of a script. What can happen is grouped in sim/happenings/; nothing
// else has to know which kinds there are.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace drover::sim {

struct Stage;

/// A kind of happening is a plain struct with what is required here, and may have
/// - `lasts_ms()`: how long it takes until it is over and everybody is back,
/// - `kStopsServer`: true if the server does nothing meanwhile,
/// - `smaller()` and `plainer()`, for shrink (see below).
template <class Kind>
concept KindOfHappening = requires(const Kind& it, Stage& stage) {
  { Kind::kIsFault } -> std::convertible_to<bool>;        // false: it is something that people do
  { it.describe() } -> std::convertible_to<std::string>;  // in a line
  it.happen(stage);
};

class Happening {
 public:
  template <KindOfHappening Kind>
  Happening(Kind what) : held_(std::make_shared<const HeldKind<Kind>>(std::move(what))) {}

  bool is_fault() const { return held_->is_fault(); }
  bool stops_server() const { return held_->stops_server(); }
  std::int64_t lasts_ms() const { return held_->lasts_ms(); }
  std::string describe() const { return held_->describe(); }
  void happen(Stage& stage) const { held_->happen(stage); }
  /// Ever smaller forms of it. The next is worth a try only if the one before still shows the failure.
  std::vector<Happening> smaller() const { return held_->smaller(); }
  /// It without one of its traits, for each that it has.
  std::vector<Happening> plainer() const { return held_->plainer(); }

  /// The happening itself, if it is of this kind.
  template <KindOfHappening Kind>
  const Kind* as() const {
    const auto* held = dynamic_cast<const HeldKind<Kind>*>(held_.get());
    return held == nullptr ? nullptr : &held->what;
  }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual bool is_fault() const = 0;
    virtual bool stops_server() const = 0;
    virtual std::int64_t lasts_ms() const = 0;
    virtual std::string describe() const = 0;
    virtual void happen(Stage& stage) const = 0;
    virtual std::vector<Happening> smaller() const = 0;
    virtual std::vector<Happening> plainer() const = 0;
  };

  template <class Kind>
  struct HeldKind final : Held {
    explicit HeldKind(Kind it) : what(std::move(it)) {}

    bool is_fault() const override { return Kind::kIsFault; }
    bool stops_server() const override {
      if constexpr (requires { Kind::kStopsServer; }) return Kind::kStopsServer;
      return false;
    }
    std::int64_t lasts_ms() const override {
      if constexpr (requires { what.lasts_ms(); }) return what.lasts_ms();
      return 0;
    }
    std::string describe() const override { return what.describe(); }
    void happen(Stage& stage) const override { what.happen(stage); }
    std::vector<Happening> smaller() const override {
      if constexpr (requires { what.smaller(); }) return what.smaller();
      return {};
    }
    std::vector<Happening> plainer() const override {
      if constexpr (requires { what.plainer(); }) return what.plainer();
      return {};
    }

    const Kind what;
  };

  std::shared_ptr<const Held> held_;
};

/// For smaller(): with half of a number, a quarter of it, and so on.
template <class Kind, class Number>
std::vector<Happening> halved(const Kind& what, Number Kind::* number) {
  std::vector<Happening> out;
  for (Number fewer = what.*number / 2; fewer > 0; fewer /= 2) {
    Kind small = what;
    small.*number = fewer;
    out.emplace_back(std::move(small));
  }
  return out;
}

}  // namespace drover::sim
