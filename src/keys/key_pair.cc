#include "keys/key_pair.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

#include <memory>

#include "base/text.h"
#include "wire/base64.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr int kRsaBits = 2048;
constexpr int kFewestRsaBits = 1024;
constexpr int kMostRsaBits = 16384;
constexpr std::size_t kEd25519Bytes = 32;
constexpr std::string_view kRsaName = "ssh-rsa";
constexpr std::string_view kEd25519Name = "ssh-ed25519";

using KeyPointer = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using NumberPointer = std::unique_ptr<BIGNUM, decltype(&BN_free)>;
using MemoryPointer = std::unique_ptr<BIO, decltype(&BIO_free_all)>;

std::unexpected<Error> no_key_pair() {
  ERR_clear_error();
  return fail(ErrorCode::io, "could not create a key pair");
}

std::unexpected<Error> not_a_public_key(std::string_view why) {
  ERR_clear_error();
  return fail(ErrorCode::bad_input, concat("the key is not in OpenSSH's public key format: ", why),
              "use the content of a file such as id_rsa.pub or id_ed25519.pub");
}

std::string secret_content(const MemoryPointer& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

// RFC 4251, section 5: what SSH calls uint32, string and mpint.
std::string ssh_uint32(std::size_t number) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8)
    out += static_cast<char>((number >> static_cast<unsigned>(shift)) & 0xFFU);
  return out;
}

std::string ssh_string(std::string_view bytes) {
  return concat(ssh_uint32(bytes.size()), bytes);
}

std::string ssh_number(const BIGNUM* number) {
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  const bool looks_negative = !bytes.empty() && (static_cast<unsigned char>(bytes.front()) & 0x80U) != 0;
  return ssh_string(looks_negative ? concat('\0', bytes) : bytes);
}

/// Takes a string off the front; nothing if it is cut off.
std::optional<std::string_view> take_ssh_string(std::string_view& from) {
  constexpr std::size_t kPrefix = 4;
  if (from.size() < kPrefix) return std::nullopt;
  std::size_t size = 0;
  for (const char c : from.substr(0, kPrefix)) size = (size << 8) | static_cast<unsigned char>(c);
  if (size > from.size() - kPrefix) return std::nullopt;
  const std::string_view out = from.substr(kPrefix, size);
  from.remove_prefix(kPrefix + size);
  return out;
}

/// "1f:51:ae:…"
std::string digest_with_colons(const EVP_MD* method, std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest, &size, method, nullptr) != 1) return {};
  std::string out;
  for (unsigned int i = 0; i < size; ++i) {
    const char byte = static_cast<char>(digest[i]);
    out += concat(i == 0 ? "" : ":", hex({&byte, 1}));
  }
  return out;
}

NumberPointer rsa_number(EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  EVP_PKEY_get_bn_param(key, name, &number);
  return {number, BN_free};
}

/// The bytes that stand in base64 in the public key's line; empty if the key cannot be read.
std::string ssh_blob(EVP_PKEY* key, KeyPairType type) {
  if (type == KeyPairType::ed25519) {
    unsigned char bytes[kEd25519Bytes];
    std::size_t size = sizeof bytes;
    if (EVP_PKEY_get_raw_public_key(key, bytes, &size) != 1) return {};
    return concat(ssh_string(kEd25519Name), ssh_string({reinterpret_cast<const char*>(bytes), size}));
  }
  const NumberPointer exponent = rsa_number(key, OSSL_PKEY_PARAM_RSA_E);
  const NumberPointer modulus = rsa_number(key, OSSL_PKEY_PARAM_RSA_N);
  if (!exponent || !modulus) return {};
  return concat(ssh_string(kRsaName), ssh_number(exponent.get()), ssh_number(modulus.get()));
}

/// The fingerprint of a key that was imported: MD5 of the key in DER, or what ssh-keygen -l shows.
std::string imported_fingerprint(EVP_PKEY* key, KeyPairType type, std::string_view blob) {
  if (type == KeyPairType::ed25519) return base64(sha256(blob));
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size < 0) return {};
  std::string out = digest_with_colons(EVP_md5(), {reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  return out;
}

Result<PublicKey> public_key_of(EVP_PKEY* key, KeyPairType type) {
  const std::string blob = ssh_blob(key, type);
  std::string fingerprint = imported_fingerprint(key, type, blob);
  if (blob.empty() || fingerprint.empty()) return no_key_pair();
  const std::string_view name = type == KeyPairType::rsa ? kRsaName : kEd25519Name;
  return PublicKey{type, concat(name, " ", base64(blob)), std::move(fingerprint)};
}

/// PROTOCOL.key of OpenSSH: it reads no other form of an Ed25519 key.
SecretText openssh_pem(EVP_PKEY* key, std::string_view blob) {
  unsigned char secret[kEd25519Bytes];
  std::size_t size = sizeof secret;
  unsigned char check[4];
  if (EVP_PKEY_get_raw_private_key(key, secret, &size) != 1 || RAND_bytes(check, sizeof check) != 1) return {};
  const std::string_view public_bytes = blob.substr(blob.size() - kEd25519Bytes);
  const std::string_view check_bytes(reinterpret_cast<const char*>(check), sizeof check);
  SecretText pair(concat(std::string_view(reinterpret_cast<const char*>(secret), size), public_bytes));
  OPENSSL_cleanse(secret, sizeof secret);
  std::string inner = concat(check_bytes, check_bytes, ssh_string(kEd25519Name), ssh_string(public_bytes),
                             ssh_string(pair.reveal()), ssh_string(""));
  constexpr std::size_t kBlock = 8;
  for (char padding = 1; inner.size() % kBlock != 0; ++padding) inner += padding;
  std::string whole = concat(std::string_view("openssh-key-v1\0", 15), ssh_string("none"), ssh_string("none"),
                             ssh_string(""), ssh_uint32(1), ssh_string(blob), ssh_string(inner));
  std::string text = base64(whole);
  constexpr std::size_t kLine = 70;
  std::string pem = "-----BEGIN OPENSSH PRIVATE KEY-----\n";
  for (std::size_t at = 0; at < text.size(); at += kLine) pem += concat(text.substr(at, kLine), "\n");
  pem += "-----END OPENSSH PRIVATE KEY-----\n";
  for (std::string* it : {&inner, &whole, &text}) wipe(*it);
  return SecretText(std::move(pem));
}

/// RFC 8017, as EC2 returns it.
SecretText rsa_pem(EVP_PKEY* key) {
  const MemoryPointer bio(BIO_new(BIO_s_secmem()), BIO_free_all);
  if (PEM_write_bio_PrivateKey_traditional(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) return {};
  return SecretText(secret_content(bio));
}

/// SHA-1 of the private key in DER, as PKCS #8: only EC2's own keys have this fingerprint.
std::string made_rsa_fingerprint(EVP_PKEY* key) {
  const MemoryPointer bio(BIO_new(BIO_s_secmem()), BIO_free_all);
  if (i2d_PKCS8PrivateKey_bio(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) return {};
  const SecretText der(secret_content(bio));
  return digest_with_colons(EVP_sha1(), der.reveal());
}

KeyPointer rsa_from(std::string_view exponent, std::string_view modulus) {
  const auto number = [](std::string_view bytes) {
    return NumberPointer(
        BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()), nullptr),
        BN_free);
  };
  const NumberPointer e = number(exponent);
  const NumberPointer n = number(modulus);
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> build(OSSL_PARAM_BLD_new(),
                                                                              OSSL_PARAM_BLD_free);
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_N, n.get());
  OSSL_PARAM_BLD_push_BN(build.get(), OSSL_PKEY_PARAM_RSA_E, e.get());
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(OSSL_PARAM_BLD_to_param(build.get()),
                                                                           OSSL_PARAM_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, "RSA", nullptr), EVP_PKEY_CTX_free);
  EVP_PKEY* key = nullptr;
  if (EVP_PKEY_fromdata_init(context.get()) == 1) {
    EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_PUBLIC_KEY, parameters.get());
  }
  return {key, EVP_PKEY_free};
}

}  // namespace

Result<KeyPair> make_key_pair(KeyPairType type) {
  const KeyPointer key(
      type == KeyPairType::rsa ? EVP_RSA_gen(kRsaBits) : EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"), EVP_PKEY_free);
  if (!key) return no_key_pair();
  auto public_key = public_key_of(key.get(), type);
  if (!public_key) return pass(public_key);
  KeyPair out{.public_key = std::move(*public_key), .private_pem = {}, .fingerprint = {}};
  if (type == KeyPairType::rsa) {
    out.private_pem = rsa_pem(key.get());
    out.fingerprint = made_rsa_fingerprint(key.get());
  } else {
    out.private_pem = openssh_pem(key.get(), ssh_blob(key.get(), type));
    out.fingerprint = out.public_key.fingerprint;
  }
  if (out.private_pem.empty() || out.fingerprint.empty()) return no_key_pair();
  return out;
}

Result<PublicKey> read_public_key(std::string_view line) {
  const std::size_t space = line.find(' ');
  const std::string_view name = line.substr(0, space);
  if (name != kRsaName && name != kEd25519Name) return not_a_public_key("it must begin with ssh-rsa or ssh-ed25519");
  const std::string_view rest = space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  const auto blob = from_base64(rest.substr(0, rest.find_first_of(" \r\n")));
  if (!blob) return not_a_public_key("no base64 text follows its type");
  std::string_view bytes = *blob;
  const auto inner_name = take_ssh_string(bytes);
  const auto first = take_ssh_string(bytes);
  if (inner_name != name || !first) return not_a_public_key("the base64 text does not contain a key of its type");
  if (name == kEd25519Name) {
    if (first->size() != kEd25519Bytes || !bytes.empty()) return not_a_public_key("the key has a wrong length");
    const KeyPointer key(
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, reinterpret_cast<const unsigned char*>(first->data()),
                                    first->size()),
        EVP_PKEY_free);
    if (!key) return not_a_public_key("it is not a valid key");
    return public_key_of(key.get(), KeyPairType::ed25519);
  }
  const auto modulus = take_ssh_string(bytes);
  if (!modulus || !bytes.empty() || modulus->size() > kMostRsaBits / 8 + 1 || first->size() > sizeof(std::uint64_t)) {
    return not_a_public_key("the key has a wrong length");
  }
  const KeyPointer key = rsa_from(*first, *modulus);
  if (!key || EVP_PKEY_get_bits(key.get()) < kFewestRsaBits) {
    return not_a_public_key(concat("an RSA key must have at least ", kFewestRsaBits, " bits"));
  }
  return public_key_of(key.get(), KeyPairType::rsa);
}

}  // namespace drover
