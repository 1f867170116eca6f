// Answers in JSON.
#pragma once

#include <boost/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ports/http.h"

namespace drover {

inline HttpResponse json_response(int status, const boost::json::value& body) {
  return {
      .status = status, .headers = {{"Content-Type", "application/json"}}, .body = boost::json::serialize(body) + "\n"};
}

/// A body that is an object, or empty, which is an empty object.
inline Result<boost::json::object> object_in(std::string_view body) {
  boost::json::error_code error;
  boost::json::value value = boost::json::parse(body.empty() ? "{}" : body, error);
  if (error || !value.is_object()) return fail(ErrorCode::bad_input, "the request body is not a JSON object");
  return std::move(value.get_object());
}

}  // namespace drover
