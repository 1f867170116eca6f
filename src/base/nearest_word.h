// The word that somebody who wrote another most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace drover {

/// How many letters must be left out, put in, changed or swapped with their neighbour to make one of the other.
std::size_t letters_apart(std::string_view one, std::string_view other);

/// The one of `known` that is nearest to `written`, or that begins with it; empty: none is near enough.
std::string nearest_word(std::string_view written, std::span<const std::string> known);

}  // namespace drover
