#include "wire/digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/params.h>
#include <openssl/sha.h>

#include <algorithm>

#include "base/check.h"
#include "wire/base64.h"

namespace drover {
namespace {

const unsigned char* unsigned_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* unsigned_bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

struct FreeDigest {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

std::string digest(const EVP_MD* kind, std::string_view bytes) {
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeDigest> context(EVP_MD_CTX_new());
  DROVER_CHECK(kind != nullptr && context != nullptr, "OpenSSL has no such digest");
  std::string out(static_cast<std::size_t>(EVP_MD_get_size(kind)), '\0');
  DROVER_CHECK(EVP_DigestInit_ex2(context.get(), kind, nullptr) == 1 &&
                   EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                   EVP_DigestFinal_ex(context.get(), unsigned_bytes(out), nullptr) == 1,
               "OpenSSL has no such digest");
  return out;
}

}  // namespace

// To look a digest up takes OpenSSL as long as to digest a kilobyte.
std::string sha256(std::string_view bytes) {
  static const EVP_MD* const kind = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return digest(kind, bytes);
}

std::string md5(std::string_view bytes) {
  static const EVP_MD* const kind = EVP_MD_fetch(nullptr, "MD5", nullptr);
  return digest(kind, bytes);
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  return HmacSha256(key).of(bytes);
}

std::string hmac_sha1(std::string_view key, std::string_view bytes) {
  std::string out(SHA_DIGEST_LENGTH, '\0');
  DROVER_CHECK(HMAC(EVP_sha1(), key.data(), static_cast<int>(key.size()), unsigned_bytes(bytes), bytes.size(),
                    unsigned_bytes(out), nullptr) != nullptr,
               "OpenSSL has no HMAC");
  return out;
}

void HmacSha256::Free::operator()(evp_mac_ctx_st* context) const {
  EVP_MAC_CTX_free(context);
}

HmacSha256::HmacSha256(std::string_view key) : spare_(std::make_unique<Spare>()) {
  static EVP_MAC* const kind = EVP_MAC_fetch(nullptr, OSSL_MAC_NAME_HMAC, nullptr);
  keyed_.reset(EVP_MAC_CTX_new(kind));
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                                   OSSL_PARAM_construct_end()};
  // Without an address it would be no key at all, not an empty one.
  const unsigned char* const bytes = unsigned_bytes(key.empty() ? std::string_view("") : key);
  DROVER_CHECK(keyed_ && EVP_MAC_init(keyed_.get(), bytes, key.size(), parameters) == 1, "OpenSSL has no HMAC");
}

HmacSha256::Context HmacSha256::take_spare() const {
  {
    const std::scoped_lock lock(spare_->mutex);
    if (spare_->context) return std::move(spare_->context);
  }
  return Context(EVP_MAC_CTX_dup(keyed_.get()));
}

std::string HmacSha256::of(std::string_view bytes) const {
  Context context = take_spare();
  std::string out(SHA256_DIGEST_LENGTH, '\0');
  std::size_t size = 0;
  // Without a key it starts over with the key that it has.
  DROVER_CHECK(context && EVP_MAC_init(context.get(), nullptr, 0, nullptr) == 1 &&
                   EVP_MAC_update(context.get(), unsigned_bytes(bytes), bytes.size()) == 1 &&
                   EVP_MAC_final(context.get(), unsigned_bytes(out), &size, out.size()) == 1,
               "OpenSSL has no HMAC");
  const std::scoped_lock lock(spare_->mutex);
  spare_->context = std::move(context);
  return out;
}

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

void wipe(std::string& secret) {
  secret.resize(secret.capacity());  // a short text's old bytes may lie behind its end
  OPENSSL_cleanse(secret.data(), secret.size());
  secret.clear();
}

std::string hex(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

std::string base64url(std::string_view bytes) {
  std::string text = base64(bytes);
  text.resize(text.find_last_not_of('=') + 1);
  std::ranges::replace(text, '+', '-');
  std::ranges::replace(text, '/', '_');
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  if (text.find_first_of("+/=") != std::string_view::npos) return std::nullopt;
  std::string usual(text);
  std::ranges::replace(usual, '-', '+');
  std::ranges::replace(usual, '_', '/');
  usual.append((4 - usual.size() % 4) % 4, '=');
  return from_base64(usual);
}

}  // namespace drover
