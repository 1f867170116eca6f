#include "cli/verb_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <optional>

#include "base/text.h"

namespace drover {

Option Option::type_name(const std::string& name) const {
  it_->type_name(name);
  return *this;
}

Option Option::required() const {
  it_->required();
  return *this;
}

Option Option::repeatable() const {
  it_->expected(1)->take_all()->allow_extra_args(false);
  return *this;
}

Option Option::one_of(std::vector<std::string> choices) const {
  it_->check(CLI::IsMember(std::move(choices)));
  return *this;
}

Option Option::range(int least, int most) const {
  it_->check(CLI::Range(least, most));
  return *this;
}

Option Option::range(double least, double most) const {
  it_->check(CLI::Range(least, most));
  return *this;
}

Option Option::positive() const {
  it_->check([](const std::string& text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    const bool is_good = error == std::errc() && end == text.data() + text.size() && number > 0;
    return is_good ? std::string() : concat("'", text, "' is not a number above 0");
  });
  return *this;
}

Option Option::non_negative() const {
  it_->check(CLI::NonNegativeNumber);
  return *this;
}

Option Option::separated_by(char mark) const {
  it_->delimiter(mark);
  return *this;
}

Option Option::accepts(std::function<std::string(const std::string&)> reason_against) const {
  it_->check(std::move(reason_against));
  return *this;
}

Option Option::excludes(const std::string& other) const {
  it_->excludes(other);
  return *this;
}

Option Option::envname(const std::string& name) const {
  it_->envname(name);
  return *this;
}

std::size_t Option::count() const {
  return it_->count();
}

Verb Verb::add_subcommand(const std::string& name, const std::string& help) const {
  return Verb(*app_->add_subcommand(name, help));
}

Option Verb::add_flag(const std::string& names, bool& into, const std::string& help) const {
  return Option(app_->add_flag(names, into, help));
}

template <typename Value>
Option Verb::add_option(const std::string& names, Value& into, const std::string& help) const {
  return Option(app_->add_option(names, into, help));
}

template Option Verb::add_option(const std::string&, std::string&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::vector<std::string>&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::optional<std::string>&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::uint64_t&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::uint32_t&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::int64_t&, const std::string&) const;
template Option Verb::add_option(const std::string&, int&, const std::string&) const;
template Option Verb::add_option(const std::string&, double&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::optional<std::uint64_t>&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::optional<std::int64_t>&, const std::string&) const;
template Option Verb::add_option(const std::string&, std::vector<std::uint64_t>&, const std::string&) const;

void Verb::footer(const std::string& text) const {
  app_->footer(text);
}

void Verb::callback(std::function<void()> call) const {
  app_->callback(std::move(call));
}

void Verb::require_subcommand(int least, int most) const {
  app_->require_subcommand(static_cast<std::size_t>(least), static_cast<std::size_t>(most));
}

void Verb::prefix_command() const {
  app_->prefix_command();
}

void Verb::validate_positionals() const {
  app_->validate_positionals();
}

void Verb::hide() const {
  app_->group("");
}

std::size_t Verb::count(const std::string& option) const {
  return app_->count(option);
}

Option Verb::option(const std::string& name) const {
  return Option(app_->get_option(name));
}

Verb Verb::part(const std::string& name) const {
  return Verb(*app_->get_subcommand(name));
}

bool Verb::has_chosen_part() const {
  return !app_->get_subcommands().empty();
}

std::vector<std::string> Verb::remaining() const {
  return app_->remaining();
}

}  // namespace drover
