#include "run/docker/docker_image.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>

#include "base/text.h"
#include "base/url.h"
#include "run/image/skopeo_words.h"
#include "wire/base64.h"
#include "wire/image_reference.h"

namespace drover {
namespace json = boost::json;
namespace {

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

/// The lines of a pull's answer, wherever they are cut.
class PullReader {
 public:
  explicit PullReader(const ImageProgressCallback& tell) : tell_(tell) {}

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
    ImageProgress progress{.phase = layers_.empty() ? ImagePhase::resolving : ImagePhase::fetching,
                           .layers = static_cast<std::uint32_t>(layers_.size())};
    for (const auto& [name, layer] : layers_) {
      progress.bytes_done += layer.done;
      progress.bytes_total += layer.total;
    }
    tell_(progress);
  }

  const ImageProgressCallback& tell_;
  std::string line_;
  std::string error_;
  std::map<std::string, Layer> layers_;
};

ImageReference reference_of(const std::string& name) {
  Result<ImageReference> parsed = ImageReference::parse(name);
  return parsed ? *parsed : ImageReference{.name = name};
}

/// The daemon itself could not be asked: no fault of the image's.
std::unexpected<ImageError> daemon_failed(const Error& error) {
  return std::unexpected(ImageError{ImageFault::unreachable, Blame::machine, error.message, error.next});
}

ImageResult<void> pull(DockerDaemon& daemon, const std::string& name, const std::string& digest,
                       const PullOptions& options) {
  const auto [image, tag] = name_and_tag(name);
  DaemonRequest request = daemon.request("POST", concat("/images/create?fromImage=", percent_encoded(image),
                                                        "&tag=", percent_encoded(digest.empty() ? tag : digest)));
  request.silence_limit = options.silence_limit;
  const ImageReference reference = reference_of(name);
  if (const std::string auth = registry_auth(options.access.auth_file, reference.host); !auth.empty()) {
    request.headers = {"X-Registry-Auth: " + auth};
  }
  PullReader reader(options.progress);
  const HttpAnswer answer = daemon.loop().call(std::move(request), {.take = [&](std::string_view bytes) {
                                                 reader.read(bytes);
                                                 return true;
                                               }});
  // libcurl's words for the limit on silence: there is no other one here.
  if (answer.problem.find("imeout") != std::string::npos) {
    return std::unexpected(
        pull_error(concat("i/o timeout: no data for ", options.silence_limit.count(), " seconds"), name));
  }
  if (Result<json::value> said = daemon.read(answer, {}); !said) {
    if (said.error().code == ErrorCode::unreachable) return daemon_failed(said.error());
    return std::unexpected(pull_error(said.error().message, name));
  }
  if (!reader.error().empty()) return std::unexpected(pull_error(reader.error(), name));
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

ImageError pull_error(std::string_view said, const std::string& name) {
  struct Phrase {
    std::string_view docker;
    std::string_view known;  // what says the same and is understood already
  };
  static constexpr auto kPhrases = std::to_array<Phrase>({
      {"no matching manifest", "no image found in manifest list"},
      {"no basic auth credentials", "unauthorized"},
      {"pull access denied", "denied:"},
      {"layer verification failed", "digest did not match"},
      {"manifest verification failed", "digest did not match"},
  });
  const ImageReference reference = reference_of(name);
  for (const Phrase& phrase : kPhrases) {
    if (said.find(phrase.docker) == std::string_view::npos) continue;
    ImageError error = skopeo_error(phrase.known, reference);
    error.message.replace(error.message.rfind('('), std::string::npos, concat("(", said, ")"));
    return about(reference, std::move(error));
  }
  return about(reference, skopeo_error(said, reference));
}

ImageResult<DockerImage> find_image(DockerDaemon& daemon, const std::string& name, const std::string& digest) {
  // The very digest first: a tag may have gone on.
  for (const std::string& tried : {concat(name_and_tag(name).first, "@", digest), name}) {
    if (tried.ends_with('@')) continue;
    const Result<json::value> said =
        daemon.ask_now(daemon.request("GET", concat("/images/", percent_encoded(tried), "/json")), {});
    if (said && has_digest(*said, digest)) return image_in(*said);
    if (said || said.error().code == ErrorCode::not_found) continue;
    if (said.error().code == ErrorCode::unreachable) return daemon_failed(said.error());
    return image_fail(ImageFault::unsupported, concat("image ", name, ": ", said.error().message),
                      "check its name and tag");
  }
  return image_fail(
      ImageFault::missing,
      concat("Docker has no image ", name, digest.empty() ? std::string() : concat(" with the digest ", digest)),
      "check its name and tag, or pull it");
}

ImageResult<DockerImage> ensure_image(DockerDaemon& daemon, const std::string& name, const std::string& digest,
                                      const PullOptions& options) {
  ImageResult<DockerImage> found = find_image(daemon, name, digest);
  if (found || found.error().fault != ImageFault::missing) return found;
  if (ImageResult<void> pulled = pull(daemon, name, digest, options); !pulled) return pass(pulled);
  return find_image(daemon, name, digest);
}

ImageResult<std::string> load_image(DockerDaemon& daemon, const std::string& archive_path) {
  const auto problem = [&](ImageFault fault, std::string_view why) {
    return image_fail(fault, concat("could not load the image from ", archive_path, ": ", why),
                      "check the path, and that the file was written by docker save");
  };
  if (::access(archive_path.c_str(), R_OK) != 0) return problem(ImageFault::missing, strerrordesc_np(errno));
  DaemonRequest request = daemon.request("POST", "/images/load?quiet=1");
  request.headers = {"Content-Type: application/x-tar"};
  request.upload_path = archive_path;
  const HttpAnswer answer = daemon.loop().call(std::move(request));
  if (const Result<json::value> said = daemon.read(answer, {}); !said) {
    if (said.error().code == ErrorCode::unreachable) return daemon_failed(said.error());
    return problem(ImageFault::corrupt, said.error().message);
  }
  std::istringstream lines(answer.body);
  for (std::string line; std::getline(lines, line);) {
    boost::system::error_code bad;
    const json::value said = json::parse(line, bad);
    if (bad) continue;
    if (const std::string error = text_at(said, {"error"}); !error.empty()) return problem(ImageFault::corrupt, error);
    std::string stream = text_at(said, {"stream"});
    while (stream.ends_with('\n')) stream.pop_back();
    for (const std::string_view sign : {"Loaded image: ", "Loaded image ID: "}) {
      if (stream.starts_with(sign)) return stream.substr(sign.size());
    }
  }
  return problem(ImageFault::corrupt, "it contains no image");
}

std::string registry_auth(std::string auth_file, const std::string& host) {
  if (auth_file.empty()) {
    const char* folder = std::getenv("DOCKER_CONFIG");
    const char* home = std::getenv("HOME");
    auth_file = folder != nullptr ? concat(folder, "/config.json")
                                  : concat(home != nullptr ? home : "", "/.docker/config.json");
  }
  std::ifstream file(auth_file);
  boost::system::error_code bad;
  const json::value config = json::parse(std::string(std::istreambuf_iterator<char>(file), {}), bad);
  if (bad) return {};
  // Docker's own registry has another name there.
  for (const std::string& name : {host, host == "docker.io" ? std::string("https://index.docker.io/v1/") : host}) {
    const std::optional<std::string> login = from_base64(text_at(config, {"auths", name, "auth"}));
    if (!login) continue;
    const std::size_t colon = login->find(':');
    if (colon == std::string::npos) continue;
    std::string auth = base64(json::serialize(json::object{
        {"username", login->substr(0, colon)}, {"password", login->substr(colon + 1)}, {"serveraddress", name}}));
    std::ranges::replace(auth, '+', '-');
    std::ranges::replace(auth, '/', '_');
    return auth;
  }
  return {};
}

}  // namespace drover
