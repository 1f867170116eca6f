// The first lines of a response.
#pragma once

#include <cstdint>
#include <string>

#include "ports/http.h"

namespace drover {

/// How a peer knows where the body ends.
enum class BodyFraming : std::uint8_t {
  none,   // there is none and cannot be one
  sized,  // Content-Length
  chunked,
  until_close,  // the connection ends with it
};

struct ResponseShape {
  BodyFraming framing = BodyFraming::sized;
  std::uint64_t length = 0;     // where it is sized
  bool close = false;           // the connection ends behind it
  bool say_keep_alive = false;  // a peer that speaks 1.0 must be told
};

/// Status line, fields and the empty line. Line ends within a value become spaces: nobody's text makes fields of its
/// own.
std::string response_head(const HttpResponse& response, const ResponseShape& shape);

/// "Not Found" for 404.
std::string_view reason_phrase(int status);

}  // namespace drover
