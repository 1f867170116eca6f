// What there is: the calls, the errors, and the description of it all.
#include "api/json_reply.h"
#include "api/native/native.h"
#include "api/native/openapi_file.h"
#include "api/problem.h"
#include "base/text.h"
#include "base/utf8.h"

namespace drover {
namespace json = boost::json;

void NativeApi::list_calls(Asked /*asked*/, HttpReply reply) {
  std::vector<ApiLine> lines;
  for (const Route& it : routes()) {
    lines.push_back({std::string(it.method), concat("/api/v1/", it.path), std::string(it.parameters)});
  }
  lines.insert(lines.end(), about_.others.begin(), about_.others.end());
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

// What the server is, and who it takes the caller for.
void NativeApi::show_self(Asked asked, HttpReply reply) {
  constexpr std::pair<Action, std::string_view> kWords[] = {{Action::read, "read"},
                                                            {Action::submit, "submit"},
                                                            {Action::change_job, "change_job"},
                                                            {Action::work, "work"},
                                                            {Action::administrate, "administrate"}};
  const Caller& caller = asked.asker.caller;
  json::array may;
  for (const auto& [action, word] : kWords) {
    if (caller.may(action)) may.emplace_back(word);
  }
  json::object key{{"id", caller.key_id},
                   {"scope", to_string(caller.scope)},
                   {"label", utf8(caller.label)},
                   {"job", caller.job ? json::value(caller.job->text()) : json::value(nullptr)},
                   {"may", std::move(may)}};
  reply.send(json_response(
      200, json::object{{"version", about_.version}, {"now_ms", about_.now_ms()}, {"key", std::move(key)}}));
}

void NativeApi::show_description(Asked /*asked*/, HttpReply reply) {
  reply.send({.status = 200, .headers = {{"Content-Type", "application/yaml"}}, .body = std::string(openapi_file())});
}

}  // namespace drover
