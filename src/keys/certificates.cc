#include "keys/certificates.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <memory>

#include "base/text.h"
#include "keys/private_file.h"
#include "keys/random_text.h"
#include "wire/digest.h"

namespace drover {
namespace {

template <auto kFree>
struct Free {
  template <class T>
  void operator()(T* it) const {
    kFree(it);
  }
};
using Bio = std::unique_ptr<BIO, Free<BIO_free_all>>;
using BigNumber = std::unique_ptr<BIGNUM, Free<BN_free>>;
using PrivateKey = std::unique_ptr<EVP_PKEY, Free<EVP_PKEY_free>>;
using X509Certificate = std::unique_ptr<X509, Free<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Free<X509_EXTENSION_free>>;
using Name = std::unique_ptr<GENERAL_NAME, Free<GENERAL_NAME_free>>;
using Names = std::unique_ptr<GENERAL_NAMES, Free<GENERAL_NAMES_free>>;
using Address = std::unique_ptr<ASN1_OCTET_STRING, Free<ASN1_OCTET_STRING_free>>;

constexpr std::string_view kCertificateFile = "/ca.pem";
constexpr std::string_view kKeyFile = "/ca.key";
constexpr int kSerialBits = 128;
constexpr std::size_t kLongestCommonName = 64;  // RFC 5280
constexpr std::size_t kLongestHostName = 253;

/// What OpenSSL says last; its queue is empty afterwards.
std::unexpected<Error> openssl_error(std::string_view what) {
  char reason[256] = "unknown reason";
  if (const unsigned long code = ERR_peek_last_error(); code != 0) ERR_error_string_n(code, reason, sizeof reason);
  ERR_clear_error();
  return fail(ErrorCode::io, concat(what, ": ", reason));
}

std::string content_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

Bio reading(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string to_pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return content_of(bio.get());
}

SecretText to_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_secmem()));
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return SecretText(content_of(bio.get()));
}

/// The one certificate in a text; nothing if there is none, or more than one.
X509Certificate only_certificate(std::string_view pem) {
  const Bio bio = reading(pem);
  X509Certificate first(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  const X509Certificate second(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return second ? nullptr : std::move(first);
}

PrivateKey private_key(const SecretText& pem) {
  const auto no_password = [](char*, int, int, void*) { return 0; };
  PrivateKey key(PEM_read_bio_PrivateKey(reading(pem.reveal()).get(), nullptr, no_password, nullptr));
  ERR_clear_error();
  return key;
}

std::string fingerprint_of(X509* certificate) {
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate, &der);
  if (size < 0) return {};
  std::string digest = hex(sha256({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)}));
  OPENSSL_free(der);
  return digest;
}

bool set_random_serial(X509* certificate) {
  const BigNumber number(BN_new());
  return number && BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_time(ASN1_TIME* time, std::int64_t now_ms, int days) {
  std::time_t now = now_ms / 1000;
  return X509_time_adj_ex(time, days, 0, &now) != nullptr;
}

bool set_common_name(X509* certificate, const std::string& name) {
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()),
                                    -1, 0) == 1;
}

bool add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool is_host_name(std::string_view name) {
  const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.'; };
  return !name.empty() && name.size() <= kLongestHostName && name.front() != '.' && std::ranges::all_of(name, letter);
}

/// As a certificate names it: an IP address or a host name; nothing if it is neither.
Name general_name(const std::string& text) {
  Name name(GENERAL_NAME_new());
  if (Address address(a2i_IPADDRESS(text.c_str())); address) {
    GENERAL_NAME_set0_value(name.get(), GEN_IPADD, address.release());
    return name;
  }
  ERR_clear_error();
  if (!is_host_name(text)) return nullptr;
  ASN1_IA5STRING* host = ASN1_IA5STRING_new();
  ASN1_STRING_set(host, text.data(), static_cast<int>(text.size()));
  GENERAL_NAME_set0_value(name.get(), GEN_DNS, host);
  return name;
}

Result<Names> general_names(const std::vector<std::string>& texts) {
  if (texts.empty()) return fail(ErrorCode::bad_input, "a certificate needs at least one server name or address");
  Names names(GENERAL_NAMES_new());
  for (const std::string& text : texts) {
    Name name = general_name(text);
    if (!name) {
      return fail(ErrorCode::bad_input, concat("'", text, "' is neither a host name nor an IP address"),
                  "use names without a port or scheme");
    }
    if (sk_GENERAL_NAME_push(names.get(), name.release()) <= 0) return openssl_error("could not store a name");
  }
  return names;
}

/// A certificate with everything that both kinds have, but not signed.
X509Certificate new_certificate(EVP_PKEY* key, const std::string& common_name, std::int64_t now_ms) {
  X509Certificate certificate(X509_new());
  X509* it = certificate.get();
  const bool made = it != nullptr && X509_set_version(it, X509_VERSION_3) == 1 && set_random_serial(it) &&
                    set_time(X509_getm_notBefore(it), now_ms, -1) && set_common_name(it, common_name) &&
                    X509_set_pubkey(it, key) == 1;
  return made ? std::move(certificate) : nullptr;
}

struct LoadedAuthority {
  X509Certificate certificate;
  PrivateKey key;
};

Result<LoadedAuthority> load(const Authority& authority, std::string_view where) {
  LoadedAuthority loaded{only_certificate(authority.own.pem), private_key(authority.own.key_pem)};
  const auto bad = [&](std::string_view why) {
    return fail(
        ErrorCode::damaged, concat(where, why),
        "restore ca.pem and ca.key from a backup, or move both aside, and a new authority will be created; workers "
        "must then join again");
  };
  if (!loaded.certificate) return bad(": ca.pem does not contain exactly one certificate");
  if (!loaded.key) return bad(": ca.key does not contain a private key");
  const bool fits = X509_check_private_key(loaded.certificate.get(), loaded.key.get()) == 1;
  ERR_clear_error();
  if (!fits) return bad(": ca.key does not match ca.pem");
  return loaded;
}

bool has_ended(X509* certificate, std::int64_t now_ms) {
  std::time_t now = now_ms / 1000;
  return X509_cmp_time(X509_get0_notAfter(certificate), &now) < 0;
}

}  // namespace

Result<Authority> make_authority(const std::string& common_name, std::int64_t now_ms) {
  if (common_name.empty() || common_name.size() > kLongestCommonName) {
    return fail(ErrorCode::bad_input, concat("an authority's name must have 1 to ", kLongestCommonName, " bytes"));
  }
  const PrivateKey key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("could not create a key");
  const X509Certificate certificate = new_certificate(key.get(), common_name, now_ms);
  X509* it = certificate.get();
  const bool made = it != nullptr && set_time(X509_getm_notAfter(it), now_ms, kAuthorityDays) &&
                    X509_set_issuer_name(it, X509_get_subject_name(it)) == 1 &&
                    add_extension(it, it, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
                    add_extension(it, it, NID_key_usage, "critical,keyCertSign,cRLSign") &&
                    add_extension(it, it, NID_subject_key_identifier, "hash") &&
                    add_extension(it, it, NID_authority_key_identifier, "keyid:always") &&
                    X509_sign(it, key.get(), EVP_sha256()) > 0;
  if (!made) return openssl_error("could not create an authority");
  return Authority{{.pem = to_pem(it), .key_pem = to_pem(key.get())}};
}

Result<Certificate> issue_certificate(const Authority& authority, const CertificateRequest& request,
                                      std::int64_t now_ms) {
  auto by = load(authority, "the authority");
  if (!by) return pass(by);
  auto names = general_names(request.names);
  if (!names) return pass(names);
  if (request.valid_days < 1) return fail(ErrorCode::bad_input, "a certificate must be valid for at least one day");

  const PrivateKey key(EVP_EC_gen("P-256"));
  if (!key) return openssl_error("could not create a key");
  X509* issuer = by->certificate.get();
  const X509Certificate certificate = new_certificate(key.get(), "drover server", now_ms);
  X509* it = certificate.get();
  const bool made = it != nullptr && set_time(X509_getm_notAfter(it), now_ms, request.valid_days) &&
                    (ASN1_TIME_compare(X509_get0_notAfter(it), X509_get0_notAfter(issuer)) <= 0 ||
                     X509_set1_notAfter(it, X509_get0_notAfter(issuer)) == 1) &&
                    X509_set_issuer_name(it, X509_get_subject_name(issuer)) == 1 &&
                    add_extension(it, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
                    add_extension(it, issuer, NID_key_usage, "critical,digitalSignature") &&
                    add_extension(it, issuer, NID_ext_key_usage, "serverAuth") &&
                    add_extension(it, issuer, NID_subject_key_identifier, "hash") &&
                    add_extension(it, issuer, NID_authority_key_identifier, "keyid:always") &&
                    X509_add1_ext_i2d(it, NID_subject_alt_name, names->get(), 0, X509V3_ADD_DEFAULT) == 1 &&
                    X509_sign(it, by->key.get(), EVP_sha256()) > 0;
  if (!made) return openssl_error("could not issue a certificate");
  return Certificate{.pem = to_pem(it), .key_pem = to_pem(key.get())};
}

Result<Authority> Authority::open(const std::string& folder, std::int64_t now_ms) {
  const std::string certificate_path = concat(folder, kCertificateFile);
  const std::string key_path = concat(folder, kKeyFile);
  auto pem = read_file(certificate_path);
  if (!pem && pem.error().code == ErrorCode::not_found) {
    // The certificate is written last: without it nobody has ever seen this authority.
    auto made = make_authority(concat("Drover authority ", random_text(kBase32Letters, 8)), now_ms);
    if (!made) return pass(made);
    if (auto wrote = replace_file(key_path, made->own.key_pem.reveal(), Readers::owner); !wrote) return pass(wrote);
    if (auto wrote = replace_file(certificate_path, made->own.pem, Readers::everyone); !wrote) return pass(wrote);
    return made;
  }
  if (!pem) return pass(pem);
  auto key = read_private_file(key_path);
  if (!key) return pass(key);
  Authority authority{{.pem = std::move(*pem), .key_pem = std::move(*key)}};
  auto loaded = load(authority, folder);
  if (!loaded) return pass(loaded);
  if (has_ended(loaded->certificate.get(), now_ms)) {
    return fail(ErrorCode::damaged, concat("the authority in ", certificate_path, " has expired"),
                "move ca.pem and ca.key aside, and a new one will be created; workers must then join again");
  }
  return authority;
}

Result<std::string> fingerprint(std::string_view pem) {
  const X509Certificate certificate = only_certificate(pem);
  if (!certificate) return fail(ErrorCode::bad_input, "the text does not contain exactly one certificate");
  return fingerprint_of(certificate.get());
}

Result<std::string> certificate_with_fingerprint(std::string_view pem, std::string_view expected) {
  const X509Certificate certificate = only_certificate(pem);
  if (!certificate) return fail(ErrorCode::bad_input, "the text does not contain exactly one certificate");
  if (const std::string found = fingerprint_of(certificate.get()); found != expected) {
    return fail(ErrorCode::denied, concat("the server's authority has the fingerprint ", found, ", not ", expected),
                "the connection may be intercepted, or the authority was replaced: ask for a new join token");
  }
  return to_pem(certificate.get());
}

}  // namespace drover
