#include "server/self_call.h"

#include <boost/json.hpp>
#include <utility>

#include "base/utf8.h"

namespace drover {
namespace json = boost::json;

bool is_self_call(const HttpHead& head) {
  return head.path == "/api/v1/self" && (head.method == "GET" || head.method == "HEAD");
}

HttpResponse self_answer(const Caller& caller, const std::string& version, std::int64_t now_ms) {
  constexpr std::pair<Action, std::string_view> kWords[] = {{Action::read, "read"},
                                                            {Action::submit, "submit"},
                                                            {Action::change_job, "change_job"},
                                                            {Action::work, "work"},
                                                            {Action::administrate, "administrate"}};
  json::array may;
  for (const auto& [action, word] : kWords) {
    if (caller.may(action)) may.emplace_back(word);
  }
  json::object key{{"id", caller.key_id},
                   {"scope", to_string(caller.scope)},
                   {"label", utf8(caller.label)},
                   {"job", caller.job ? json::value(caller.job->text()) : json::value(nullptr)},
                   {"may", std::move(may)}};
  const json::object body{{"version", version}, {"now_ms", now_ms}, {"key", std::move(key)}};
  return {.status = 200, .headers = {{"Content-Type", "application/json"}}, .body = json::serialize(body) + "\n"};
}

}  // namespace drover
