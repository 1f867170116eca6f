#include "keys/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include <algorithm>

#include "base/check.h"
#include "wire/base64.h"

namespace drover {
namespace {

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

}  // namespace

std::string sha256(std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  DROVER_CHECK(SHA256(bytes_of(bytes), bytes.size(), bytes_of(digest)) != nullptr, "OpenSSL has no SHA-256");
  return digest;
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  DROVER_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes_of(bytes), bytes.size(),
                    bytes_of(digest), nullptr) != nullptr,
               "OpenSSL has no HMAC");
  return digest;
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
