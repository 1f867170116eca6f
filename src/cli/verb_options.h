// A verb's options and arguments, as the verbs see them. It hides CLI11, which is all inline: a file that includes it
// takes seconds to compile.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace drover {

/// A flag or an argument of a verb. A handle: copies are the same option.
class Option {
 public:
  explicit Option(CLI::Option* it) : it_(it) {}

  /// How help calls its value. Completion knows what RUN, JOB, FILE and others stand for (command_tree.cc).
  Option type_name(const std::string& name) const;
  Option required() const;
  /// May be given more than once, with one word each time.
  Option repeatable() const;
  Option one_of(std::vector<std::string> choices) const;
  Option range(int least, int most) const;
  Option range(double least, double most) const;
  Option positive() const;
  Option non_negative() const;
  /// Several values in one word, separated by this.
  Option separated_by(char mark) const;
  /// Words that this answers with a reason are refused.
  Option accepts(std::function<std::string(const std::string&)> reason_against) const;
  /// Cannot be combined with the option of this name.
  Option excludes(const std::string& other) const;
  Option envname(const std::string& name) const;
  /// How often it was given.
  std::size_t count() const;

 private:
  CLI::Option* it_;
};

/// A verb, or a part of one. A handle, like Option.
class Verb {
 public:
  Verb() = default;
  explicit Verb(CLI::App& app) : app_(&app) {}

  Verb add_subcommand(const std::string& name, const std::string& help) const;
  Option add_flag(const std::string& names, bool& into, const std::string& help) const;
  /// `Value`: a string, a number, an optional or a list of these; the types in use are listed in verb_options.cc.
  template <typename Value>
  Option add_option(const std::string& names, Value& into, const std::string& help) const;

  /// Examples, and whatever else stands below the options.
  void footer(const std::string& text) const;
  /// Called when the verb was given and everything was read.
  void callback(std::function<void()> call) const;
  void require_subcommand(int least, int most) const;
  void require_subcommand(int exactly) const { require_subcommand(exactly, exactly); }
  /// From the first word that is not the verb's own, everything is the command.
  void prefix_command() const;
  /// Arguments are checked before they are taken.
  void validate_positionals() const;
  /// Not shown in help.
  void hide() const;

  /// How often an option was given.
  std::size_t count(const std::string& option) const;
  Option option(const std::string& name) const;
  Verb part(const std::string& name) const;
  /// Whether one of its parts was given.
  bool has_chosen_part() const;
  /// The words that are not the verb's own.
  std::vector<std::string> remaining() const;

  /// For what walks through all verbs: help, completion, settings files.
  CLI::App& app() const { return *app_; }
  explicit operator bool() const { return app_ != nullptr; }

 private:
  CLI::App* app_ = nullptr;
};

}  // namespace drover
