#include "cli/complete_words.h"

namespace drover {
namespace {

class Completing {
 public:
  Completing(const CommandNode& root, const NameSource& names) : command_(&root), names_(names) {}

  /// A word before the last one. False: from here on the words are those of a program.
  bool pass(const std::string& word) {
    if (awaits_ != nullptr) {
      note(*awaits_, word);
      awaits_ = nullptr;
      return true;
    }
    if (word == "--") return false;
    if (word.size() > 1 && word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      const CommandFlag* flag = command_->flag(word.substr(0, equals));
      if (flag == nullptr || !flag->takes_value) return true;
      if (equals == std::string::npos) {
        awaits_ = flag;
      } else {
        note(*flag, word.substr(equals + 1));
      }
      return true;
    }
    if (const CommandNode* part = command_->part(word); part != nullptr && arguments_ == 0) {
      command_ = part;
      return true;
    }
    ++arguments_;
    return !begins_program();
  }

  Completion last(const std::string& word, std::size_t index) {
    if (awaits_ != nullptr) return value(awaits_->value, word, "");
    if (word.starts_with('-')) {
      const std::size_t equals = word.find('=');
      const CommandFlag* flag = equals == std::string::npos ? nullptr : command_->flag(word.substr(0, equals));
      if (flag != nullptr && flag->takes_value) {
        return value(flag->value, word.substr(equals + 1), word.substr(0, equals + 1));
      }
      return flags(word);
    }
    Completion completion;
    if (command_->takes_command && arguments_ >= command_->arguments.size()) {
      completion.by_shell = ShellCompletes::program;
      completion.program_at = index;
      return completion;
    }
    if (const CommandArgument* argument = next_argument()) completion = value(argument->value, word, "");
    if (arguments_ == 0) {
      for (const CommandNode& part : command_->parts) offer(completion, part.name, part.help, word);
    }
    return completion;
  }

 private:
  const CommandArgument* next_argument() const {
    const std::vector<CommandArgument>& known = command_->arguments;
    if (arguments_ < known.size()) return &known[arguments_];
    return !known.empty() && known.back().repeats ? &known.back() : nullptr;
  }

  static void offer(Completion& completion, const std::string& word, const std::string& help, std::string_view begun) {
    if (word.starts_with(begun)) completion.candidates.push_back({word, help});
  }

  /// Words that have no other place are a program's.
  bool begins_program() const { return command_->takes_command && arguments_ > command_->arguments.size(); }

  void note(const CommandFlag& flag, const std::string& value) {
    if (flag.names.front() == "--data") said_.data = value;
    if (flag.names.front() == "--server") said_.server = value;
  }

  Completion flags(std::string_view begun) const {
    Completion completion;
    for (const CommandFlag& flag : command_->flags) {
      for (const std::string& name : flag.names) {
        // Short ones are shown to those who ask for all of them.
        if (name.starts_with("--") || begun.size() < 2 || name == begun) offer(completion, name, flag.help, begun);
      }
    }
    return completion;
  }

  Completion value(const CommandValue& value, std::string_view begun, const std::string& before) const {
    Completion completion{.cut = before.size()};
    switch (value.kind) {
      case ValueKind::text: break;
      case ValueKind::choice:
        for (const std::string& choice : value.choices) offer(completion, choice, "", begun);
        break;
      case ValueKind::file: completion.by_shell = ShellCompletes::files; break;
      case ValueKind::folder: completion.by_shell = ShellCompletes::folders; break;
      case ValueKind::run:
      case ValueKind::job:
      case ValueKind::worker:
      case ValueKind::queue:
      case ValueKind::definition:
      case ValueKind::fleet:
      case ValueKind::stream:
        for (const Candidate& name : names_(value.kind, said_)) offer(completion, name.word, name.help, begun);
        break;
    }
    for (Candidate& candidate : completion.candidates) candidate.word.insert(0, before);
    return completion;
  }

  const CommandNode* command_;
  const NameSource& names_;
  const CommandFlag* awaits_ = nullptr;  // whose value comes next
  std::size_t arguments_ = 0;            // how many words known by their place have passed
  SaidBefore said_;
};

}  // namespace

Completion complete_words(const CommandNode& root, std::span<const std::string> words, const NameSource& names) {
  Completing completing(root, names);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (completing.pass(words[i])) continue;
    return {.by_shell = ShellCompletes::program, .program_at = words[i] == "--" ? i + 1 : i};
  }
  return completing.last(words.empty() ? "" : words.back(), words.empty() ? 0 : words.size() - 1);
}

}  // namespace drover
