#include "keys/ring_file.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"

namespace drover {
namespace json = boost::json;
namespace {

/// Version 2 has keys for buckets. A ring without one is still written as version 1, which older programs read.
constexpr std::int64_t kVersion = 2;
constexpr std::int64_t kVersionWithoutBuckets = 1;

std::string text_at(const json::object& object, const char* name) {
  return json::value_to<std::string>(object.at(name));
}

template <class Number>
Number number_at(const json::object& object, const char* name) {
  return object.at(name).to_number<Number>();
}

json::object key_to_json(const Key& key) {
  json::object out{{"id", key.info.id},       {"secret", key.secret.reveal()},     {"scope", to_string(key.info.scope)},
                   {"label", key.info.label}, {"created_ms", key.info.created_ms}, {"fleet", key.info.fleet}};
  if (key.info.expires_ms) out["expires_ms"] = *key.info.expires_ms;
  if (!key.info.worker.empty()) out["worker"] = key.info.worker;
  if (key.info.used_ms != 0) out["used_ms"] = key.info.used_ms;
  if (const auto& grant = key.info.grant) {
    out["bucket"] = grant->bucket;
    out["prefix"] = grant->prefix;
    out["access"] = to_string(grant->access);
  }
  return out;
}

Key key_from(const json::object& object) {
  Key key;
  key.info.id = text_at(object, "id");
  key.secret = SecretText(text_at(object, "secret"));
  key.info.scope = parse_scope(text_at(object, "scope")).value();
  key.info.label = text_at(object, "label");
  key.info.created_ms = number_at<std::int64_t>(object, "created_ms");
  key.info.fleet = text_at(object, "fleet");
  if (object.contains("expires_ms")) key.info.expires_ms = number_at<std::int64_t>(object, "expires_ms");
  if (object.contains("worker")) key.info.worker = text_at(object, "worker");
  if (object.contains("used_ms")) key.info.used_ms = number_at<std::int64_t>(object, "used_ms");
  // Without its grant the key must not pass for one that may do something.
  if (key.info.scope == Scope::bucket) {
    key.info.grant = BucketGrant{.bucket = text_at(object, "bucket"),
                                 .prefix = text_at(object, "prefix"),
                                 .access = parse_bucket_access(text_at(object, "access")).value()};
  }
  return key;
}

json::object join_token_to_json(const std::string& id, const StoredJoinToken& token) {
  return {{"id", id},
          {"secret_sha256", token.secret_sha256},
          {"uses_left", token.uses_left},
          {"created_ms", token.created_ms},
          {"expires_ms", token.expires_ms},
          {"fleet", token.fleet},
          {"worker", token.worker},
          {"joined", json::value_from(token.joined)}};
}

StoredJoinToken join_token_from(const json::object& object) {
  return {.secret_sha256 = text_at(object, "secret_sha256"),
          .uses_left = number_at<std::uint64_t>(object, "uses_left"),
          .created_ms = number_at<std::int64_t>(object, "created_ms"),
          .expires_ms = number_at<std::int64_t>(object, "expires_ms"),
          .fleet = text_at(object, "fleet"),
          .worker = object.contains("worker") ? text_at(object, "worker") : "",
          .joined = json::value_to<std::map<std::string, std::string>>(object.at("joined"))};
}

}  // namespace

SecretText ring_to_json(const Ring& ring) {
  json::array keys;
  for (const auto& [id, key] : ring.keys) keys.push_back(key_to_json(key));
  json::array join_tokens;
  for (const auto& [id, token] : ring.join_tokens) join_tokens.push_back(join_token_to_json(id, token));
  const bool has_buckets =
      std::ranges::any_of(ring.keys, [](const auto& it) { return it.second.info.grant.has_value(); });
  return SecretText(json::serialize(json::object{{"version", has_buckets ? kVersion : kVersionWithoutBuckets},
                                                 {"server_secret", ring.server_secret.reveal()},
                                                 {"keys", std::move(keys)},
                                                 {"join_tokens", std::move(join_tokens)}}));
}

Result<Ring> ring_from_json(std::string_view text, const std::string& path) {
  try {
    const json::value value = json::parse(text);
    const json::object& object = value.as_object();
    if (number_at<std::int64_t>(object, "version") > kVersion) {
      return fail(ErrorCode::newer_schema, concat(path, " was written by a newer version of drover"),
                  "use that version, or a newer one");
    }
    Ring ring;
    ring.server_secret = SecretText(text_at(object, "server_secret"));
    for (const json::value& it : object.at("keys").as_array()) {
      Key key = key_from(it.as_object());
      ring.keys.emplace(key.info.id, std::move(key));
    }
    for (const json::value& it : object.at("join_tokens").as_array()) {
      ring.join_tokens.emplace(text_at(it.as_object(), "id"), join_token_from(it.as_object()));
    }
    return ring;
  } catch (const std::exception&) {
    // What exactly is wrong is not said: the text is full of secrets.
    return fail(ErrorCode::damaged, concat(path, " is not a valid key file"),
                "restore it from a backup, or move it aside, and a new one will be created; every key must then be "
                "issued again");
  }
}

}  // namespace drover
