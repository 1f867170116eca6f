// Names of objects as users write them: s3://BUCKET/KEY, file:///PATH, http(s)://HOST/PATH.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

/// The store that an object is in, and its key there. Keys are written as they are, except in http(s) URIs, where they
/// are escaped as in any URL.
struct ObjectUri {
  enum class Scheme : std::uint8_t { s3, file, http };

  Scheme scheme = Scheme::s3;
  std::string store;  // a bucket, a directory or "https://HOST:PORT"; an empty bucket: all of them
  std::string key;    // empty: the store itself; may be a prefix

  /// As it is written.
  std::string text() const;
  /// The same store with another key.
  ObjectUri with_key(std::string other) const { return {scheme, store, std::move(other)}; }
  bool is_prefix() const { return key.empty() || key.ends_with('/'); }

  bool operator==(const ObjectUri&) const = default;
};

/// Whether the text begins with one of the schemes.
bool looks_like_object_uri(std::string_view text);

/// Of a file the store is the directory it is in, so that "file:///data/in/" is all of that directory.
Result<ObjectUri> parse_object_uri(std::string_view text);

/// Whether a key matches a pattern: `*` and `?` do not match a slash, `**` matches anything.
bool matches_glob(std::string_view pattern, std::string_view key);
bool is_glob(std::string_view text);
/// What every match begins with: "in/a" of "in/a*.jpg".
std::string_view literal_prefix(std::string_view pattern);

}  // namespace drover
