// Text that must not be seen: it cannot be printed by accident, and its memory is wiped when it goes. What others made
// of it on the way (a parser, a socket's buffer) is not.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "wire/digest.h"

namespace drover {

class SecretText {
 public:
  SecretText() = default;
  /// Takes the text over; what `text` held before is the caller's to wipe.
  explicit SecretText(std::string text) : text_(std::move(text)) {}
  SecretText(const SecretText&) = default;
  SecretText(SecretText&& other) noexcept { text_.swap(other.text_); }
  SecretText& operator=(SecretText other) noexcept {
    text_.swap(other.text_);
    return *this;
  }
  ~SecretText() { wipe(text_); }

  /// For those who store it, send it or compute with it.
  const std::string& reveal() const { return text_; }
  bool empty() const { return text_.empty(); }

  /// In a time that tells the length of `other` and nothing else.
  bool equals(std::string_view other) const { return equal_in_constant_time(other, text_); }

 private:
  std::string text_;
};

}  // namespace drover
