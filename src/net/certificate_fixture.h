// Certificates made on the spot: an authority, and servers it vouches for. For tests.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <string>

#include "net/tls_identity.h"

namespace drover {

class Authority {
 public:
  explicit Authority(const std::string& name) : key_(EVP_EC_gen("P-256")), certificate_(make(name, nullptr, key_)) {}
  ~Authority() {
    EVP_PKEY_free(key_);
    X509_free(certificate_);
  }
  Authority(const Authority&) = delete;
  Authority& operator=(const Authority&) = delete;

  std::string pem() const { return pem_of(certificate_); }
  /// For a server at 127.0.0.1 and localhost.
  TlsIdentity issue(const std::string& name) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* certificate = make(name, certificate_, key);
    BIO* text = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(text, key, nullptr, nullptr, 0, nullptr, nullptr);
    TlsIdentity identity{pem_of(certificate), text_of(text)};
    X509_free(certificate);
    EVP_PKEY_free(key);
    return identity;
  }

 private:
  static std::string text_of(BIO* bio) {
    char* bytes = nullptr;
    const long size = BIO_get_mem_data(bio, &bytes);
    std::string text(bytes, static_cast<std::size_t>(size));
    BIO_free(bio);
    return text;
  }
  static std::string pem_of(X509* certificate) {
    BIO* text = BIO_new(BIO_s_mem());
    PEM_write_bio_X509(text, certificate);
    return text_of(text);
  }
  static void extend(X509* certificate, X509* issuer, int what, const char* value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value);
    ASSERT_NE(extension, nullptr);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  /// Without an issuer: one that vouches for itself and for others.
  X509* make(const std::string& name, X509* issuer, EVP_PKEY* key) {
    X509* made = X509_new();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 3600);
    X509_set_pubkey(made, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(made, X509_get_subject_name(issuer == nullptr ? made : issuer));
    if (issuer == nullptr) {
      extend(made, made, NID_basic_constraints, "critical,CA:TRUE");
      extend(made, made, NID_key_usage, "critical,keyCertSign,cRLSign");
    } else {
      extend(made, issuer, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    }
    X509_sign(made, key_, EVP_sha256());
    return made;
  }

  EVP_PKEY* key_;
  long serial_ = 0;
  X509* certificate_;
};

}  // namespace drover
