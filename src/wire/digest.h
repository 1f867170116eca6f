// SHA-256, HMAC, and bytes as text.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

struct evp_mac_ctx_st;  // of OpenSSL

namespace drover {

/// 32 bytes.
std::string sha256(std::string_view bytes);
/// 16 bytes. Only for protocols that require it.
std::string md5(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);
/// 20 bytes. Only for protocols that require it.
std::string hmac_sha1(std::string_view key, std::string_view bytes);

/// HMAC with SHA-256 for many texts under one key, whose share of the work is done once. May be used from any thread.
class HmacSha256 {
 public:
  explicit HmacSha256(std::string_view key);
  std::string of(std::string_view bytes) const;

 private:
  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };
  using Context = std::unique_ptr<evp_mac_ctx_st, Free>;
  /// A copy of what is keyed, from the last text: to copy takes OpenSSL longer than to digest a kilobyte.
  struct Spare {
    std::mutex mutex;
    Context context;
  };
  Context take_spare() const;

  Context keyed_;
  std::unique_ptr<Spare> spare_;
};

/// Takes a time that depends on the lengths alone: for signatures and other secrets.
bool equal_in_constant_time(std::string_view a, std::string_view b);
/// Overwrites a secret and leaves the text empty.
void wipe(std::string& secret);

/// Lower case, two digits a byte.
std::string hex(std::string_view bytes);

/// RFC 4648 base64 for URLs and file names, without padding.
std::string base64url(std::string_view bytes);
/// Nothing: it is none.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace drover
