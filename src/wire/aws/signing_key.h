// Keys of signature version 4. A secret never signs anything itself: a key is derived from it for each day, region and
// service.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "wire/digest.h"

namespace drover::aws {

/// Where and when a signature is valid.
struct SigningScope {
  std::string day;      // "20261115"
  std::string region;   // "us-east-1"
  std::string service;  // "s3"

  /// "20261115/us-east-1/s3/aws4_request".
  std::string text() const;
};

class SigningKey {
 public:
  SigningKey(std::string_view secret, const SigningScope& scope);

  /// In hexadecimal digits, small letters.
  std::string sign(std::string_view text) const;

 private:
  const HmacSha256 key_;
};

/// Derived keys that have verified a signature. Only those: a stranger cannot fill it. May be used from any thread.
class SigningKeyCache {
 public:
  explicit SigningKeyCache(std::size_t most = 1000) : most_(most) {}

  /// What names a key here. Contains a digest of the secret, so that a changed secret has another name.
  static std::string name_of(std::string_view access_key_id, std::string_view secret, const SigningScope& scope);

  /// nullptr: not in the cache.
  std::shared_ptr<const SigningKey> find(const std::string& name) const;
  /// The oldest is removed if there is no room.
  void keep(const std::string& name, std::shared_ptr<const SigningKey> key);

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;  // guards all below
  std::map<std::string, std::shared_ptr<const SigningKey>> keys_;
  std::deque<std::string> in_order_;  // the oldest first
};

}  // namespace drover::aws
