#include "wire/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
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

std::string digest(const EVP_MD* kind, std::string_view bytes) {
  DROVER_CHECK(kind != nullptr, "OpenSSL has no such digest");
  std::string out(static_cast<std::size_t>(EVP_MD_get_size(kind)), '\0');
  DROVER_CHECK(EVP_Digest(bytes.data(), bytes.size(), unsigned_bytes(out), nullptr, kind, nullptr) == 1,
               "OpenSSL has no such digest");
  return out;
}

std::string hmac(const EVP_MD* digest, std::size_t size, std::string_view key, std::string_view bytes) {
  std::string out(size, '\0');
  DROVER_CHECK(HMAC(digest, key.data(), static_cast<int>(key.size()), unsigned_bytes(bytes), bytes.size(),
                    unsigned_bytes(out), nullptr) != nullptr,
               "OpenSSL has no HMAC");
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
  return hmac(EVP_sha256(), SHA256_DIGEST_LENGTH, key, bytes);
}

std::string hmac_sha1(std::string_view key, std::string_view bytes) {
  return hmac(EVP_sha1(), SHA_DIGEST_LENGTH, key, bytes);
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
