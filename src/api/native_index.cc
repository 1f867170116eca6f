// What there is: the calls, the errors, and the description of it all.
#include "api/json_reply.h"
#include "api/native.h"
#include "api/openapi_file.h"
#include "api/problem.h"
#include "base/text.h"

namespace drover {
namespace json = boost::json;

void NativeApi::list_calls(Asked /*asked*/, HttpReply reply) {
  std::vector<ApiLine> lines;
  for (const Route& it : routes()) {
    lines.push_back({std::string(it.method), concat("/api/v1/", it.path), std::string(it.parameters)});
  }
  lines.insert(lines.end(), others_.begin(), others_.end());
  json::array calls;
  for (const ApiLine& it : lines) {
    json::array parameters;
    for (std::string_view rest = it.parameters; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      parameters.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    calls.push_back(json::object{{"method", it.method}, {"path", it.path}, {"parameters", std::move(parameters)}});
  }
  reply.send(json_response(200, json::object{{"calls", std::move(calls)}, {"description", "/api/v1/openapi.yaml"}}));
}

void NativeApi::list_errors(Asked /*asked*/, HttpReply reply) {
  json::array out;
  for (const ErrorMeaning& it : error_meanings()) {
    out.push_back(
        json::object{{"code", to_string(it.code)}, {"status", it.status}, {"meaning", it.meaning}, {"next", it.next}});
  }
  reply.send(json_response(200, json::object{{"errors", std::move(out)}}));
}

void NativeApi::show_description(Asked /*asked*/, HttpReply reply) {
  reply.send({.status = 200, .headers = {{"Content-Type", "application/yaml"}}, .body = std::string(openapi_file())});
}

}  // namespace drover
