#include "run/image/content_digest.h"

#include <openssl/evp.h>

#include <array>

#include "base/check.h"

namespace drover {

void ContentDigest::Free::operator()(evp_md_ctx_st* it) const {
  EVP_MD_CTX_free(it);
}

ContentDigest::ContentDigest() : context_(EVP_MD_CTX_new()) {
  DROVER_CHECK(EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "SHA-256 is always there");
}
ContentDigest::~ContentDigest() = default;
ContentDigest::ContentDigest(ContentDigest&&) noexcept = default;
ContentDigest& ContentDigest::operator=(ContentDigest&&) noexcept = default;

void ContentDigest::add(std::string_view bytes) {
  DROVER_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "hashing cannot fail");
}

std::string ContentDigest::text() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> bytes{};
  unsigned size = 0;
  DROVER_CHECK(EVP_DigestFinal_ex(context_.get(), bytes.data(), &size) == 1, "hashing cannot fail");
  std::string out = "sha256:";
  for (unsigned i = 0; i < size; ++i) {
    out += "0123456789abcdef"[bytes[i] >> 4];
    out += "0123456789abcdef"[bytes[i] & 15];
  }
  return out;
}

std::string digest_of(std::string_view bytes) {
  ContentDigest digest;
  digest.add(bytes);
  return digest.text();
}

std::string digest_digits(std::string_view digest) {
  return std::string(digest.substr(digest.find(':') + 1));
}

}  // namespace drover
