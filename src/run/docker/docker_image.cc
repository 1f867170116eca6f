#include "run/docker/docker_image.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <map>

#include "base/text.h"
#include "wire/base64.h"

namespace drover {
namespace json = boost::json;
namespace {

// A registry that says nothing for so long has hung.
constexpr std::chrono::seconds kPullSilence{300};

std::vector<std::string> texts_at(const json::value& value, std::initializer_list<std::string_view> path) {
  std::vector<std::string> texts;
  const json::value* found = value_at(value, path);
  if (found == nullptr || !found->is_array()) return texts;
  for (const json::value& text : found->get_array()) {
    if (text.is_string()) texts.emplace_back(text.get_string());
  }
  return texts;
}

DockerImage image_in(const json::value& said) {
  return {text_at(said, {"Id"}),
          {texts_at(said, {"Config", "Entrypoint"}), texts_at(said, {"Config", "Cmd"}),
           texts_at(said, {"Config", "Env"}), text_at(said, {"Config", "User"}),
           text_at(said, {"Config", "WorkingDir"}), text_at(said, {"Config", "StopSignal"})}};
}

bool has_digest(const json::value& said, const std::string& digest) {
  if (digest.empty() || text_at(said, {"Id"}) == digest) return true;
  const std::vector<std::string> known = texts_at(said, {"RepoDigests"});
  return std::ranges::any_of(known, [&](const std::string& one) { return one.ends_with("@" + digest); });
}

std::string without_tag(const std::string& name) {
  return name_and_tag(name).first;
}

/// The lines of a pull's answer, wherever they are cut.
class PullReader {
 public:
  explicit PullReader(const TellPullProgress& tell) : tell_(tell) {}

  void read(std::string_view bytes) {
    line_ += bytes;
    std::size_t end = 0;
    while ((end = line_.find('\n')) != std::string::npos) {
      read_line(line_.substr(0, end));
      line_.erase(0, end + 1);
    }
  }
  const std::string& error() const { return error_; }

 private:
  struct Layer {
    std::uint64_t done = 0;
    std::uint64_t total = 0;
  };

  void read_line(const std::string& line) {
    boost::system::error_code bad;
    const json::value said = json::parse(line, bad);
    if (bad) return;
    if (std::string error = text_at(said, {"error"}); !error.empty()) error_ = std::move(error);
    const std::string status = text_at(said, {"status"});
    const std::string id = text_at(said, {"id"});
    if (status == "Downloading") {
      layers_[id] = {static_cast<std::uint64_t>(number_at(said, {"progressDetail", "current"})),
                     static_cast<std::uint64_t>(number_at(said, {"progressDetail", "total"}))};
    } else if (status == "Download complete") {
      layers_[id].done = layers_[id].total;
    }
    if (!tell_) return;
    PullProgress progress{.status = status};
    for (const auto& [name, layer] : layers_) {
      progress.done_bytes += layer.done;
      progress.total_bytes += layer.total;
    }
    tell_(progress);
  }

  const TellPullProgress& tell_;
  std::string line_;
  std::string error_;
  std::map<std::string, Layer> layers_;
};

std::string next_step(ErrorCode code) {
  switch (code) {
    case ErrorCode::not_found: return "see whether name and tag are written as the registry has them";
    case ErrorCode::denied: return "log in to the registry (docker login), or ask for access to the image";
    case ErrorCode::unreachable: return "see whether the registry can be reached from this machine";
    case ErrorCode::timeout: return "see whether the registry is slow, or try again";
    case ErrorCode::no_space: return "make room where Docker keeps its images (docker system prune)";
    case ErrorCode::bad_input: return "give the name of an image that is made for this kind of machine";
    default: return {};
  }
}

std::unexpected<Error> pull_failed(const std::string& name, ErrorCode code, std::string_view why) {
  return fail(code, concat("could not pull the image ", name, ": ", why), next_step(code));
}

Result<void> pull(DockerDaemon& daemon, const std::string& name, const std::string& digest,
                  const std::optional<RegistryLogin>& login, const TellPullProgress& tell) {
  const auto [image, tag] = name_and_tag(name);
  DaemonRequest request = daemon.request("POST", concat("/images/create?fromImage=", percent_encoded(image),
                                                        "&tag=", percent_encoded(digest.empty() ? tag : digest)));
  request.silence_limit = kPullSilence;
  if (login) {
    std::string auth = base64(json::serialize(
        json::object{{"username", login->user}, {"password", login->password}, {"serveraddress", login->server}}));
    std::ranges::replace(auth, '+', '-');
    std::ranges::replace(auth, '/', '_');
    request.headers = {"X-Registry-Auth: " + auth};
  }
  PullReader reader(tell);
  const HttpAnswer answer = daemon.loop().call(std::move(request), {.take = [&](std::string_view bytes) {
                                                 reader.read(bytes);
                                                 return true;
                                               }});
  // libcurl's words for a limit on silence: there is no other timeout here.
  if (answer.problem.find("imeout") != std::string::npos) {
    return pull_failed(name, ErrorCode::timeout, concat("nothing came for ", kPullSilence.count(), " seconds"));
  }
  Result<json::value> said = daemon.read(answer, concat("could not pull the image ", name));
  if (!said && said.error().code == ErrorCode::unreachable) return pass(said);
  if (!said) {
    const ErrorCode by_text = pull_error_code(said.error().message);
    const ErrorCode code = by_text == ErrorCode::io ? said.error().code : by_text;
    return fail(code, said.error().message, next_step(code));
  }
  if (!reader.error().empty()) return pull_failed(name, pull_error_code(reader.error()), reader.error());
  return {};
}

}  // namespace

std::pair<std::string, std::string> name_and_tag(std::string_view name) {
  if (const std::size_t at = name.find('@'); at != std::string_view::npos) {
    return {name_and_tag(name.substr(0, at)).first, std::string(name.substr(at + 1))};
  }
  const std::size_t colon = name.rfind(':');
  const std::size_t slash = name.rfind('/');
  const bool is_port = colon == std::string_view::npos || (slash != std::string_view::npos && slash > colon);
  if (is_port) return {std::string(name), "latest"};
  return {std::string(name.substr(0, colon)), std::string(name.substr(colon + 1))};
}

ErrorCode pull_error_code(std::string_view message) {
  struct Sign {
    std::string_view text;
    ErrorCode code;
  };
  // In this order: a registry's refusal may name what it would not show.
  static constexpr std::array kSigns = {
      Sign{"no space left", ErrorCode::no_space},
      Sign{"no matching manifest", ErrorCode::bad_input},
      Sign{"does not match the detected host platform", ErrorCode::bad_input},
      Sign{"invalid reference format", ErrorCode::bad_input},
      Sign{"unauthorized", ErrorCode::denied},
      Sign{"no basic auth credentials", ErrorCode::denied},
      Sign{"authentication required", ErrorCode::denied},
      Sign{"access denied", ErrorCode::denied},
      Sign{"access to the resource is denied", ErrorCode::denied},
      Sign{"403 Forbidden", ErrorCode::denied},
      Sign{"manifest unknown", ErrorCode::not_found},
      Sign{"not found", ErrorCode::not_found},
      Sign{"name unknown", ErrorCode::not_found},
      Sign{"context deadline exceeded", ErrorCode::timeout},
      Sign{"i/o timeout", ErrorCode::timeout},
      Sign{"Client.Timeout", ErrorCode::timeout},
      Sign{"TLS handshake timeout", ErrorCode::timeout},
      Sign{"connection refused", ErrorCode::unreachable},
      Sign{"no such host", ErrorCode::unreachable},
      Sign{"network is unreachable", ErrorCode::unreachable},
      Sign{"no route to host", ErrorCode::unreachable},
      Sign{"server misbehaving", ErrorCode::unreachable},
      Sign{"http: server gave HTTP response to HTTPS client", ErrorCode::unreachable},
      Sign{"x509: ", ErrorCode::unreachable},
      Sign{"verification failed", ErrorCode::damaged},
      Sign{"unexpected EOF", ErrorCode::damaged},
  };
  for (const Sign& sign : kSigns) {
    if (message.find(sign.text) != std::string_view::npos) return sign.code;
  }
  return ErrorCode::io;
}

Result<DockerImage> find_image(DockerDaemon& daemon, const std::string& name, const std::string& digest) {
  // The very digest first: a tag may have gone on.
  for (const std::string& tried : {concat(without_tag(name), "@", digest), name}) {
    if (tried.ends_with('@')) continue;
    Result<json::value> said =
        daemon.ask_now(daemon.request("GET", concat("/images/", percent_encoded(tried), "/json")),
                       concat("could not find the image ", name));
    if (!said && said.error().code != ErrorCode::not_found) return pass(said);
    if (said && has_digest(*said, digest)) return image_in(*said);
  }
  return fail(
      ErrorCode::not_found,
      concat("Docker has no image ", name, digest.empty() ? std::string() : concat(" with the digest ", digest)),
      concat("pull it: docker pull ", name));
}

Result<DockerImage> ensure_image(DockerDaemon& daemon, const std::string& name, const std::string& digest,
                                 const std::optional<RegistryLogin>& login, const TellPullProgress& tell) {
  Result<DockerImage> found = find_image(daemon, name, digest);
  if (found || found.error().code != ErrorCode::not_found) return found;
  if (Result<void> pulled = pull(daemon, name, digest, login, tell); !pulled) return pass(pulled);
  return find_image(daemon, name, digest);
}

Result<std::string> load_image(DockerDaemon& daemon, const std::string& archive_path) {
  if (::access(archive_path.c_str(), R_OK) != 0) {
    return std::unexpected(errno_error(errno, concat("could not read ", archive_path)));
  }
  DaemonRequest request = daemon.request("POST", "/images/load?quiet=1");
  request.headers = {"Content-Type: application/x-tar"};
  request.upload_path = archive_path;
  const std::string what = concat("could not load the image of ", archive_path);
  const HttpAnswer answer = daemon.loop().call(std::move(request));
  if (Result<json::value> said = daemon.read(answer, what); !said) return pass(said);
  constexpr std::string_view kLoaded = "Loaded image: ";
  constexpr std::string_view kLoadedId = "Loaded image ID: ";
  for (std::size_t at = 0; at < answer.body.size();) {
    const std::size_t end = std::min(answer.body.find('\n', at), answer.body.size());
    boost::system::error_code bad;
    const json::value said = json::parse(answer.body.substr(at, end - at), bad);
    at = end + 1;
    if (bad) continue;
    if (const std::string error = text_at(said, {"error"}); !error.empty()) {
      return fail(pull_error_code(error), concat(what, ": ", error));
    }
    std::string stream = text_at(said, {"stream"});
    while (stream.ends_with('\n')) stream.pop_back();
    for (const std::string_view sign : {kLoaded, kLoadedId}) {
      if (stream.starts_with(sign)) return stream.substr(sign.size());
    }
  }
  return fail(ErrorCode::damaged, concat(what, ": it holds none"));
}

}  // namespace drover
