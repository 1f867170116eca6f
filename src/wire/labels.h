// Labels as JSON: {"gpu":"a100","zone":"b"}.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/resources.h"
#include "base/result.h"

namespace drover {

/// What a label may have, for errors.
inline constexpr const char* kLabelCharacters =
    "names use letters, digits, '_', '.' and '-', values also ':', '/', '+' and '@'; at most 128 characters";

std::string labels_to_json(const Labels& labels);
/// What cannot be a label is named.
Result<Labels> labels_from_json(std::string_view json);

/// "gpu=a100", as it is written on a command line.
Result<Labels> labels_from_words(std::string_view flag, const std::vector<std::string>& words);

}  // namespace drover
