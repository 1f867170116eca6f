// What came back on a connection, held against what may.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bad_request.h"

namespace hostile {

struct Answer {
  int status = 0;
  std::string content_type;
  std::string body;
  std::size_t size = 0;  // of all of it, head and body
};

/// The first whole answer in these bytes, "100 Continue" passed over; nothing: it is not all there.
std::optional<Answer> first_answer(std::string_view bytes);

/// Everything that came is there, and nothing more comes: what is wrong with it; empty: nothing.
std::string judged(const BadRequest& request, std::string_view bytes);

/// So many whole answers are there that no more is waited for.
bool is_enough(const BadRequest& request, std::string_view bytes);

}  // namespace hostile
