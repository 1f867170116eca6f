#include "wire/aws/signing_key.h"

#include <utility>

#include "base/text.h"

namespace drover::aws {
namespace {

HmacSha256 derived(std::string_view secret, const SigningScope& scope) {
  std::string bytes = concat("AWS4", secret);
  for (const std::string_view part : {std::string_view(scope.day), std::string_view(scope.region),
                                      std::string_view(scope.service), std::string_view("aws4_request")}) {
    std::string next = hmac_sha256(bytes, part);
    bytes.swap(next);
    wipe(next);
  }
  HmacSha256 out(bytes);
  wipe(bytes);
  return out;
}

}  // namespace

std::string SigningScope::text() const {
  return concat(day, "/", region, "/", service, "/aws4_request");
}

SigningKey::SigningKey(std::string_view secret, const SigningScope& scope) : key_(derived(secret, scope)) {}

std::string SigningKey::sign(std::string_view text) const {
  return hex(key_.of(text));
}

std::string SigningKeyCache::name_of(std::string_view access_key_id, std::string_view secret,
                                     const SigningScope& scope) {
  return concat(sha256(secret), access_key_id, "/", scope.text());
}

std::shared_ptr<const SigningKey> SigningKeyCache::find(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = keys_.find(name);
  return found == keys_.end() ? nullptr : found->second;
}

void SigningKeyCache::keep(const std::string& name, std::shared_ptr<const SigningKey> key) {
  const std::lock_guard lock(mutex_);
  if (!keys_.emplace(name, std::move(key)).second) return;
  in_order_.push_back(name);
  if (in_order_.size() <= most_) return;
  keys_.erase(in_order_.front());
  in_order_.pop_front();
}

}  // namespace drover::aws
