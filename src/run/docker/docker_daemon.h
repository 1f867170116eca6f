// The Docker daemon of this machine.
#pragma once

#include <boost/json/value.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "run/docker/http_loop.h"

namespace drover {

/// What a daemon says of itself.
struct DockerFacts {
  std::string version;         // "20.10.24"
  std::string architecture;    // "x86_64"
  std::string storage_driver;  // "overlay2"
  std::string cgroup_driver;   // "cgroupfs", "systemd"
  std::string cgroup_version;  // "1", "2"
  bool is_rootless = false;
};

/// Questions to one daemon. An error says `unreachable` only if the daemon could not be asked at all.
class DockerDaemon {
 public:
  using Reply = std::function<void(Result<boost::json::value>)>;

  /// `host` is "unix:///path" or a path; empty: $DOCKER_HOST, else /var/run/docker.sock.
  static Result<std::shared_ptr<DockerDaemon>> connect(std::string host);

  const DockerFacts& facts() const { return facts_; }
  const std::string& socket_path() const { return socket_path_; }
  HttpLoop& loop() { return loop_; }

  /// With the version of the API that both speak: "/v1.41/containers/json".
  DaemonRequest request(std::string method, std::string_view path, std::string body = {}) const;
  /// On the loop's thread, and answered there. `what` begins the message of an error: "could not start a container";
  /// empty: the daemon's own words.
  void ask(DaemonRequest request, std::string what, Reply reply);
  /// From any other thread.
  Result<boost::json::value> ask_now(DaemonRequest request, const std::string& what);
  /// What an answer means.
  Result<boost::json::value> read(const HttpAnswer& answer, std::string_view what) const;

 private:
  explicit DockerDaemon(std::string socket_path) : socket_path_(std::move(socket_path)), loop_(socket_path_) {}

  Result<void> meet();

  const std::string socket_path_;
  std::string version_path_;  // "/v1.41"
  DockerFacts facts_;
  HttpLoop loop_;
};

/// The text at a path of an object ("State", "Error"); empty: there is none.
std::string text_at(const boost::json::value& value, std::initializer_list<std::string_view> path);
std::int64_t number_at(const boost::json::value& value, std::initializer_list<std::string_view> path);
bool truth_at(const boost::json::value& value, std::initializer_list<std::string_view> path);
/// Null: there is none.
const boost::json::value* value_at(const boost::json::value& value, std::initializer_list<std::string_view> path);

}  // namespace drover
