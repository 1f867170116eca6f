// What people give a name: queues, definitions, fleets.
#pragma once

#include <string>
#include <string_view>

#include "base/name.h"
#include "base/result.h"
#include "base/text.h"
#include "base/utf8.h"

namespace drover {

inline Error no_such(std::string_view kind, std::string_view name) {
  return {ErrorCode::not_found, concat(kind, " '", utf8(name), "' not found"),
          concat("list them with 'drover ", kind, " list'")};
}

inline Result<void> check_name(std::string_view kind, const std::string& name) {
  if (is_valid_name(name)) return {};
  return fail(ErrorCode::bad_input, concat("invalid ", kind, " name '", utf8(name), "'"),
              "use letters, digits, '_', '.' and '-', at most 128 characters");
}

}  // namespace drover
