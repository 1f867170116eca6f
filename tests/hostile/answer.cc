#include "answer.h"

#include <boost/json.hpp>
#include <cstdlib>

namespace hostile {
namespace {

constexpr char kAlert = 21;  // the first byte of TLS's own way to refuse
constexpr std::string_view kProblem = "application/problem+json";

std::string_view field(std::string_view head, std::string_view name) {
  const std::size_t at = head.find(name);
  if (at == std::string_view::npos) return {};
  const std::size_t begin = at + name.size();
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

/// An error names itself as one, with its status and a reason.
bool is_problem(const Answer& answer) {
  if (answer.content_type != kProblem) return false;
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(answer.body, error);
  if (error || !value.is_object()) return false;
  const auto* status = value.get_object().if_contains("status");
  const auto* detail = value.get_object().if_contains("detail");
  return status != nullptr && *status == answer.status && detail != nullptr && detail->is_string() &&
         !detail->get_string().empty();
}

}  // namespace

std::optional<Answer> first_answer(std::string_view bytes) {
  std::size_t skipped = 0;
  while (bytes.starts_with("HTTP/1.1 100 ")) {
    const std::size_t end = bytes.find("\r\n\r\n");
    if (end == std::string_view::npos) return std::nullopt;
    skipped += end + 4;
    bytes.remove_prefix(end + 4);
  }
  const std::size_t end = bytes.find("\r\n\r\n");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view head = bytes.substr(0, end + 2);
  Answer answer;
  if (head.starts_with("HTTP/1.1 ")) answer.status = std::atoi(std::string(head.substr(9, 3)).c_str());
  answer.content_type = field(head, "\r\nContent-Type: ");
  const std::string length_text(field(head, "\r\nContent-Length: "));
  const std::size_t length = std::strtoull(length_text.c_str(), nullptr, 10);
  if (bytes.size() < end + 4 + length) return std::nullopt;
  answer.body = bytes.substr(end + 4, length);
  answer.size = skipped + end + 4 + length;
  return answer;
}

std::string judged(const BadRequest& request, std::string_view bytes) {
  const auto wrong = [&](std::string_view what) {
    return std::string(request.kind) + ": " + std::string(what) + ": " + std::string(bytes.substr(0, 300));
  };
  for (int i = 0; i < request.good_before; ++i) {
    const auto answer = first_answer(bytes);
    if (!answer || answer->status != 200) return wrong("a good request was not answered as one");
    bytes.remove_prefix(answer->size);
  }
  if (bytes.empty()) return {};  // closed without a word
  if (request.may_be_alert && bytes.front() == kAlert) return {};
  const auto answer = first_answer(bytes);
  if (!answer) return wrong("half an answer");
  if (answer->status >= 400 && answer->status <= 599) {
    if (!is_problem(*answer)) return wrong("an error that is no problem JSON");
    if (answer->status == 500) return wrong("the server blames itself");
  } else if (request.allowed == Allowed::refusal || answer->status < 200) {
    return wrong("a bad request was taken for a good one");
  }
  // What a request hid behind itself must not be taken for another one, after an error.
  if (answer->status >= 400 && request.allowed == Allowed::refusal && bytes.size() > answer->size &&
      first_answer(bytes.substr(answer->size)).value_or(Answer{}).status == 200) {
    return wrong("something was smuggled in");
  }
  return {};
}

bool is_enough(const BadRequest& request, std::string_view bytes) {
  for (int i = 0; i <= request.good_before; ++i) {
    const auto answer = first_answer(bytes);
    if (!answer) return false;
    bytes.remove_prefix(answer->size);
  }
  return true;
}

}  // namespace hostile
