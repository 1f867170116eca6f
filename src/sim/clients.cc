#include "sim/clients.h"

namespace drover::sim {

void Clients::ask(const Command& command, std::function<void(const Effect&)> then) {
  const std::uint64_t question = ++last_question_;
  asked_.emplace(question, Question{command, std::move(then)});
  ask_again(question);
}

void Clients::ask_again(std::uint64_t question) {
  const auto asked = asked_.find(question);
  if (asked == asked_.end()) return;
  events_.after(kAskAgainMs, [this, question] { ask_again(question); });
  if (!server_.up()) return;
  network_.bring([this, question, command = asked->second.command, server = server_.generation()] {
    if (!server_.up() || server_.generation() != server) return;
    server_.request(command, [this, question](const Effect& effect) {
      network_.bring([this, question, effect] {
        const auto node = asked_.extract(question);
        if (!node.empty()) node.mapped().then(effect);
      });
    });
  });
}

bool is_unknown(const Effect& effect) {
  const auto* refused = std::get_if<Refused>(&effect);
  return refused != nullptr && refused->error.code == ErrorCode::not_found;
}

}  // namespace drover::sim
