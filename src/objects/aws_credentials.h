// Whose credentials a client of AWS uses, found where AWS's own clients find them: in the environment, in the files of
// the AWS CLI, from the container's or the machine's metadata. Those that expire are fetched anew in time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "objects/s3_store.h"
#include "ports/http_client.h"

namespace drover {

class AwsCredentials {
 public:
  struct Outside {
    std::function<std::optional<std::string>(const std::string& name)> variable;
    /// Nothing: there is no such file, or it cannot be read.
    std::function<std::optional<std::string>(const std::string& path)> file;
    std::function<Result<std::unique_ptr<HttpClient>>(const std::string& base)> http;
    std::function<std::int64_t()> now_ms;
  };
  explicit AwsCredentials(Outside outside) : outside_(std::move(outside)) {}

  /// `refused`: those that were given last are not taken. An error says where they were looked for.
  Result<S3Credentials> get(bool refused);
  /// Of the environment or the files; empty: nobody says one.
  std::string region() const;

 private:
  struct Found {
    S3Credentials credentials;
    std::int64_t expires_ms = 0;  // 0: never
  };
  Result<Found> look() const;
  std::optional<Found> from_environment() const;
  std::optional<Found> from_files() const;
  Result<std::optional<Found>> from_container() const;
  Result<std::optional<Found>> from_machine() const;
  /// A setting of the profile that is in use.
  std::optional<std::string> setting(std::string_view name) const;

  const Outside outside_;
  std::optional<Found> found_;
};

/// The value of `name` in a section of a file as the AWS CLI writes it. Nothing: it is not there.
std::optional<std::string> ini_value(std::string_view text, std::string_view section, std::string_view name);

}  // namespace drover
