#include "run/docker/docker_daemon.h"

#include <boost/json/parse.hpp>
#include <charconv>
#include <cstdlib>

#include "base/text.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr const char* kDefaultSocket = "/var/run/docker.sock";
constexpr std::string_view kUnix = "unix://";
// The newest that was read about: a daemon that is newer still speaks it.
constexpr int kNewestMinor = 47;

ErrorCode code_of(int status, std::string_view message) {
  if (message.find("no space left") != std::string_view::npos) return ErrorCode::no_space;
  switch (status) {
    case 400: return ErrorCode::bad_input;
    case 401:
    case 403: return ErrorCode::denied;
    case 404: return ErrorCode::not_found;
    case 409: return ErrorCode::conflict;
    default: return ErrorCode::io;
  }
}

std::string message_in(const std::string& body) {
  boost::system::error_code bad;
  const json::value value = json::parse(body, bad);
  std::string message = bad ? body : text_at(value, {"message"});
  while (message.ends_with('\n')) message.pop_back();
  return message;
}

int minor_of(const std::string& version) {
  int minor = 0;
  const std::size_t dot = version.find('.');
  if (dot != std::string::npos) std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
  return minor;
}

}  // namespace

Result<std::shared_ptr<DockerDaemon>> DockerDaemon::connect(std::string host) {
  if (host.empty()) {
    const char* given = std::getenv("DOCKER_HOST");
    host = given != nullptr && *given != '\0' ? given : kDefaultSocket;
  }
  if (host.starts_with(kUnix)) host.erase(0, kUnix.size());
  if (!host.starts_with('/')) {
    return fail(ErrorCode::bad_input, concat("the Docker daemon at ", host, " is not on a Unix socket"),
                "set DOCKER_HOST to unix:///path/to/docker.sock; the daemon must run on this machine");
  }
  std::shared_ptr<DockerDaemon> daemon(new DockerDaemon(std::move(host)));
  if (Result<void> met = daemon->meet(); !met) return pass(met);
  return daemon;
}

Result<void> DockerDaemon::meet() {
  Result<json::value> version = ask_now(request("GET", "/version"), "could not get the Docker version");
  if (!version) return pass(version);
  version_path_ = concat("/v1.", std::min(minor_of(text_at(*version, {"ApiVersion"})), kNewestMinor));
  Result<json::value> info = ask_now(request("GET", "/info"), "could not get the Docker configuration");
  if (!info) return pass(info);
  facts_ = {text_at(*version, {"Version"}), text_at(*info, {"Architecture"}), text_at(*info, {"Driver"}),
            text_at(*info, {"CgroupDriver"}), text_at(*info, {"CgroupVersion"})};
  if (const json::value* options = value_at(*info, {"SecurityOptions"}); options != nullptr && options->is_array()) {
    for (const json::value& option : options->get_array()) {
      facts_.is_rootless = facts_.is_rootless || option == "name=rootless";
    }
  }
  return {};
}

DaemonRequest DockerDaemon::request(std::string method, std::string_view path, std::string body) const {
  DaemonRequest made;
  made.method = std::move(method);
  made.path = concat(version_path_, path);
  made.body = std::move(body);
  return made;
}

Result<json::value> DockerDaemon::read(const HttpAnswer& answer, std::string_view what) const {
  const std::string begin = what.empty() ? std::string() : concat(what, ": ");
  if (!answer.problem.empty()) {
    return fail(ErrorCode::unreachable, concat(begin, "the Docker daemon at ", socket_path_, ": ", answer.problem),
                "check that it is running (docker info), and that this user may use it (group docker)");
  }
  if (answer.status < 200 || answer.status >= 300) {
    const std::string message = message_in(answer.body);
    return fail(code_of(answer.status, message),
                concat(begin, message.empty() ? concat("Docker returned status ", answer.status) : message));
  }
  if (answer.body.empty()) return json::value();
  boost::system::error_code bad;
  json::value value = json::parse(answer.body, bad);
  return bad ? json::value(json::string(answer.body)) : value;
}

void DockerDaemon::ask(DaemonRequest request, std::string what, Reply reply) {
  loop_.send(std::move(request), [this, what = std::move(what), reply = std::move(reply)](const HttpAnswer& answer) {
    reply(read(answer, what));
  });
}

Result<json::value> DockerDaemon::ask_now(DaemonRequest request, const std::string& what) {
  return read(loop_.call(std::move(request)), what);
}

const json::value* value_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* at = &value;
  for (const std::string_view name : path) {
    at = at->is_object() ? at->get_object().if_contains(name) : nullptr;
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string text_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = value_at(value, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::int64_t number_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = value_at(value, path);
  if (found == nullptr || !found->is_number()) return 0;
  boost::system::error_code none;
  return found->to_number<std::int64_t>(none);
}

bool truth_at(const json::value& value, std::initializer_list<std::string_view> path) {
  const json::value* found = value_at(value, path);
  return found != nullptr && found->is_bool() && found->get_bool();
}

}  // namespace drover
