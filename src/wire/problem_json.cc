#include "wire/problem_json.h"

#include <boost/json.hpp>

#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace json = boost::json;
namespace {

ErrorCode code_of(int status, std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ErrorCode::timeout); ++i) {
    if (to_string(static_cast<ErrorCode>(i)) == name) return static_cast<ErrorCode>(i);
  }
  switch (status) {
    case 400: return ErrorCode::bad_input;
    case 401:
    case 403: return ErrorCode::denied;
    case 404: return ErrorCode::not_found;
    case 409: return ErrorCode::conflict;
    default: return ErrorCode::io;
  }
}

}  // namespace

std::string problem_to_json(int status, const Error& error) {
  json::object body{
      {"type", "about:blank"}, {"status", status}, {"code", to_string(error.code)}, {"detail", utf8(error.message)}};
  if (!error.next.empty()) body["next"] = utf8(error.next);
  return json::serialize(body) + "\n";
}

std::string problem_with_request(std::string_view problem, std::string_view id) {
  json::error_code error;
  json::value value = json::parse(problem, error);
  if (error || !value.is_object()) return std::string(problem);
  value.get_object()["request_id"] = id;
  return json::serialize(value) + "\n";
}

Error error_from_problem(int status, std::string_view body) {
  json::error_code error;
  const json::value value = json::parse(body, error);
  const json::object* object = error ? nullptr : value.if_object();
  const auto text = [&](std::string_view name) {
    const json::value* field = object == nullptr ? nullptr : object->if_contains(name);
    return field != nullptr && field->is_string() ? std::string(field->get_string()) : std::string();
  };
  Error out{code_of(status, text("code")), text("detail"), text("next")};
  if (out.message.empty()) out.message = concat("the server returned status ", status);
  const std::string id = text("request_id");
  if (status >= 500 && out.next.empty() && !id.empty())
    out.next = concat("look for request ", id, " in the server's log");
  return out;
}

}  // namespace drover
