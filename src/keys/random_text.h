// Chance that nobody can guess: from the kernel.
#pragma once

#include <string>
#include <string_view>

namespace drover {

inline constexpr std::string_view kBase32Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
inline constexpr std::string_view kLettersAndDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

std::string random_bytes(std::size_t count);

/// So many letters of an alphabet, each as likely as any other.
std::string random_text(std::string_view alphabet, std::size_t length);

}  // namespace drover
