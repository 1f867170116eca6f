#include "keys/certificates.h"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <ctime>
#include <memory>

#include "base/text.h"
#include "keys/folder_fixture.h"

namespace drover {
namespace {

using X509Pointer = std::unique_ptr<X509, decltype(&X509_free)>;

X509Pointer certificate(const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free_all)> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())),
                                                          BIO_free_all);
  return {PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), X509_free};
}

/// What a TLS client would find: X509_V_OK or the reason against it.
int verify(const Authority& authority, const Certificate& server, const char* host, const char* address,
           std::int64_t now_ms = kNow) {
  const X509Pointer trusted = certificate(authority.own.pem);
  const X509Pointer shown = certificate(server.pem);
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(), X509_STORE_free);
  X509_STORE_add_cert(store.get(), trusted.get());
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> context(X509_STORE_CTX_new(),
                                                                                X509_STORE_CTX_free);
  X509_STORE_CTX_init(context.get(), store.get(), shown.get(), nullptr);
  X509_VERIFY_PARAM* wanted = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(wanted, now_ms / 1000);
  X509_VERIFY_PARAM_set_flags(wanted, X509_V_FLAG_X509_STRICT);
  X509_VERIFY_PARAM_set_purpose(wanted, X509_PURPOSE_SSL_SERVER);
  if (host != nullptr) X509_VERIFY_PARAM_set1_host(wanted, host, 0);
  if (address != nullptr) X509_VERIFY_PARAM_set1_ip_asc(wanted, address);
  return X509_verify_cert(context.get()) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(context.get());
}

Authority an_authority(const std::string& name = "test", std::int64_t now_ms = kNow) {
  auto authority = make_authority(name, now_ms);
  EXPECT_TRUE(authority);
  return std::move(*authority);
}

Certificate issued(const Authority& authority, const CertificateRequest& request, std::int64_t now_ms = kNow) {
  auto server = issue_certificate(authority, request, now_ms);
  EXPECT_TRUE(server) << (server ? "" : server.error().message);
  return std::move(*server);
}

TEST(Certificates, AServersIsVerifiedByItsAuthorityUnderItsNames) {
  const Authority authority = an_authority();
  const Certificate server = issued(authority, {.names = {"head.example", "localhost", "10.1.2.3", "2001:db8::1"}});
  EXPECT_EQ(verify(authority, server, "head.example", nullptr), X509_V_OK);
  EXPECT_EQ(verify(authority, server, "localhost", nullptr), X509_V_OK);
  EXPECT_EQ(verify(authority, server, nullptr, "10.1.2.3"), X509_V_OK);
  EXPECT_EQ(verify(authority, server, nullptr, "2001:db8::1"), X509_V_OK);
  EXPECT_EQ(verify(authority, server, "other.example", nullptr), X509_V_ERR_HOSTNAME_MISMATCH);
  EXPECT_EQ(verify(authority, server, nullptr, "10.1.2.4"), X509_V_ERR_IP_ADDRESS_MISMATCH);
}

TEST(Certificates, AnotherAuthorityOfTheSameNameDoesNotVerifyIt) {
  const Certificate server = issued(an_authority(), {.names = {"a"}});
  EXPECT_NE(verify(an_authority(), server, "a", nullptr), X509_V_OK);
}

TEST(Certificates, AServersCannotSignAnother) {
  const Authority authority = an_authority();
  const Authority pretender{issued(authority, {.names = {"a"}})};
  const Certificate below = issued(pretender, {.names = {"b"}});
  EXPECT_NE(verify(authority, below, "b", nullptr), X509_V_OK);
  EXPECT_NE(verify(pretender, below, "b", nullptr), X509_V_OK);
}

TEST(Certificates, AreGoodFromADayAgoUntilTheirDaysAreOver) {
  const Authority authority = an_authority();
  const Certificate server = issued(authority, {.names = {"a"}, .valid_days = 30});
  EXPECT_EQ(verify(authority, server, "a", nullptr, kNow - kDay + 1000), X509_V_OK);
  EXPECT_EQ(verify(authority, server, "a", nullptr, kNow - kDay - 1000), X509_V_ERR_CERT_NOT_YET_VALID);
  EXPECT_EQ(verify(authority, server, "a", nullptr, kNow + 30 * kDay - 1000), X509_V_OK);
  EXPECT_EQ(verify(authority, server, "a", nullptr, kNow + 30 * kDay + 1000), X509_V_ERR_CERT_HAS_EXPIRED);
}

TEST(Certificates, EndWithTheirAuthority) {
  const Authority authority = an_authority();
  const std::int64_t late = kNow + (kAuthorityDays - 10) * kDay;
  const Certificate server = issued(authority, {.names = {"a"}, .valid_days = 30}, late);
  EXPECT_EQ(verify(authority, server, "a", nullptr, late + 9 * kDay), X509_V_OK);
  EXPECT_EQ(ASN1_TIME_compare(X509_get0_notAfter(certificate(server.pem).get()),
                              X509_get0_notAfter(certificate(authority.own.pem).get())),
            0);
}

TEST(Certificates, SayWhatTheyAreFor) {
  const Authority authority = an_authority("Drover authority");
  const X509Pointer ca = certificate(authority.own.pem);
  EXPECT_EQ(X509_get_extension_flags(ca.get()) & (EXFLAG_CA | EXFLAG_BCONS | EXFLAG_INVALID), EXFLAG_CA | EXFLAG_BCONS);
  EXPECT_EQ(X509_get_pathlen(ca.get()), 0);
  EXPECT_EQ(X509_get_key_usage(ca.get()), static_cast<unsigned>(KU_KEY_CERT_SIGN | KU_CRL_SIGN));
  EXPECT_NE(X509_get0_subject_key_id(ca.get()), nullptr);
  EXPECT_NE(X509_get0_authority_key_id(ca.get()), nullptr);

  const X509Pointer server = certificate(issued(authority, {.names = {"a"}}).pem);
  EXPECT_EQ(X509_get_extension_flags(server.get()) & (EXFLAG_CA | EXFLAG_BCONS | EXFLAG_INVALID), EXFLAG_BCONS);
  EXPECT_EQ(X509_get_key_usage(server.get()), static_cast<unsigned>(KU_DIGITAL_SIGNATURE));
  EXPECT_EQ(X509_get_extended_key_usage(server.get()), static_cast<unsigned>(XKU_SSL_SERVER));
  EXPECT_NE(X509_get0_subject_key_id(server.get()), nullptr);
  EXPECT_EQ(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(server.get()), X509_get0_subject_key_id(ca.get())), 0);
  for (X509* it : {ca.get(), server.get()}) {
    for (const int kind : {NID_basic_constraints, NID_key_usage}) {
      EXPECT_TRUE(X509_EXTENSION_get_critical(X509_get_ext(it, X509_get_ext_by_NID(it, kind, -1))));
    }
    EXPECT_EQ(X509_get_version(it), X509_VERSION_3);
    EXPECT_EQ(EVP_PKEY_get_bits(X509_get0_pubkey(it)), 256);
  }
}

TEST(Certificates, HaveSerialNumbersOfTheirOwn) {
  const Authority authority = an_authority();
  const X509Pointer first = certificate(issued(authority, {.names = {"a"}}).pem);
  const X509Pointer second = certificate(issued(authority, {.names = {"a"}}).pem);
  EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(first.get()), X509_get0_serialNumber(second.get())), 0);
}

TEST(Certificates, NamesThatAreNoneAreRefused) {
  const Authority authority = an_authority();
  EXPECT_FALSE(issue_certificate(authority, {.names = {}}, kNow));
  EXPECT_FALSE(issue_certificate(authority, {.names = {"a"}, .valid_days = 0}, kNow));
  for (const char* name :
       {"", "a:8750", "http://a", "a,DNS:b", "a b", ".a", "fe80::1%eth0", "*.example", "ä.example"}) {
    const auto server = issue_certificate(authority, {.names = {"good", name}}, kNow);
    ASSERT_FALSE(server) << name;
    EXPECT_EQ(server.error().code, ErrorCode::bad_input);
  }
  EXPECT_FALSE(make_authority("", kNow));
  EXPECT_FALSE(make_authority(std::string(65, 'x'), kNow));
}

TEST(Fingerprint, IsOfOneCertificateOnly) {
  const Authority real = an_authority();
  const Authority other = an_authority();
  const auto print = fingerprint(real.own.pem);
  ASSERT_TRUE(print);
  EXPECT_EQ(print->size(), 64U);
  EXPECT_NE(*print, *fingerprint(other.own.pem));
  EXPECT_FALSE(fingerprint(""));
  EXPECT_FALSE(fingerprint("hello"));
  EXPECT_FALSE(fingerprint(real.own.key_pem.reveal()));
  EXPECT_FALSE(fingerprint(real.own.pem + other.own.pem)) << "the second would be trusted unseen";
}

TEST(Fingerprint, TakesTheCertificateAndNothingElseOutOfAText) {
  const Authority real = an_authority();
  const Authority other = an_authority();
  const std::string print = *fingerprint(real.own.pem);
  EXPECT_EQ(certificate_with_fingerprint(real.own.pem, print), real.own.pem);
  EXPECT_EQ(certificate_with_fingerprint("text before\n" + real.own.pem + "text after\n", print), real.own.pem);
  EXPECT_EQ(certificate_with_fingerprint(other.own.pem, print).error().code, ErrorCode::denied);
  EXPECT_EQ(certificate_with_fingerprint(real.own.pem, "").error().code, ErrorCode::denied);
  EXPECT_FALSE(certificate_with_fingerprint(real.own.pem + other.own.pem, print));
  EXPECT_FALSE(certificate_with_fingerprint(other.own.pem + real.own.pem, print));
}

class AuthorityFolder : public FolderTest {
 protected:
  Result<Authority> open(std::int64_t now_ms = kNow) const { return Authority::open(folder_, now_ms); }
};

TEST_F(AuthorityFolder, IsMadeAtFirstAndLoadedAfterwards) {
  const auto made = open();
  ASSERT_TRUE(made);
  EXPECT_EQ(mode_of(in_folder("ca.pem")), 0644U);
  EXPECT_EQ(mode_of(in_folder("ca.key")), 0600U);
  EXPECT_EQ(content_of(in_folder("ca.pem")), made->own.pem);
  const auto loaded = open();
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->own.pem, made->own.pem);
  EXPECT_EQ(verify(*made, issued(*loaded, {.names = {"a"}}), "a", nullptr), X509_V_OK);
}

TEST_F(AuthorityFolder, AKeyThatOthersCanReadIsRefused) {
  ASSERT_TRUE(open());
  chmod(in_folder("ca.key").c_str(), 0644);
  const auto again = open();
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().next.find("chmod 600 " + in_folder("ca.key")), std::string::npos);
}

TEST_F(AuthorityFolder, ACrashBetweenTheTwoFilesIsNoHarm) {
  ASSERT_TRUE(open());
  std::filesystem::remove(in_folder("ca.pem"));
  const auto again = open();
  ASSERT_TRUE(again);
  EXPECT_EQ(verify(*again, issued(*again, {.names = {"a"}}), "a", nullptr), X509_V_OK);
}

TEST_F(AuthorityFolder, WhatDoesNotFitTogetherIsRefusedAndLeftAlone) {
  const auto made = open();
  ASSERT_TRUE(made);
  const std::string key_path = in_folder("ca.key");
  for (const std::string& wrong :
       {an_authority().own.key_pem.reveal(), std::string(), std::string("x"), made->own.pem}) {
    write_text(key_path, wrong);
    EXPECT_EQ(open().error().code, ErrorCode::damaged);
    EXPECT_EQ(content_of(key_path), wrong);
  }
  std::filesystem::remove(key_path);
  EXPECT_EQ(open().error().code, ErrorCode::not_found);
  EXPECT_EQ(content_of(in_folder("ca.pem")), made->own.pem);
}

TEST_F(AuthorityFolder, AnExpiredOneIsRefused) {
  ASSERT_TRUE(open());
  EXPECT_TRUE(open(kNow + (kAuthorityDays - 1) * kDay));
  EXPECT_NE(open(kNow + (kAuthorityDays + 1) * kDay).error().message.find("expired"), std::string::npos);
}

TEST_F(AuthorityFolder, TheOpensslProgramAgrees) {
  const std::int64_t now_ms = std::int64_t{std::time(nullptr)} * 1000;
  const auto authority = open(now_ms);
  const Certificate server = issued(*authority, {.names = {"head.example", "10.1.2.3"}}, now_ms);
  write_text(in_folder("server.pem"), server.pem);
  const std::string check = concat("openssl verify -x509_strict -purpose sslserver -CAfile ", folder_, "/ca.pem ");
  const std::string quietly = concat(" ", folder_, "/server.pem >", folder_, "/said 2>&1");
  EXPECT_EQ(std::system((check + "-verify_hostname head.example" + quietly).c_str()), 0)
      << content_of(in_folder("said"));
  EXPECT_EQ(std::system((check + "-verify_ip 10.1.2.3" + quietly).c_str()), 0) << content_of(in_folder("said"));
  EXPECT_NE(std::system((check + "-verify_hostname other.example" + quietly).c_str()), 0);

  EXPECT_EQ(
      std::system(
          concat("openssl x509 -in ", folder_, "/ca.pem -noout -fingerprint -sha256 >", folder_, "/said").c_str()),
      0);
  std::string said = content_of(in_folder("said"));
  said = said.substr(said.find('=') + 1);
  std::erase_if(said, [](char c) { return c == ':' || c == '\n'; });
  std::ranges::transform(said, said.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  EXPECT_EQ(said, *fingerprint(authority->own.pem));
}

}  // namespace
}  // namespace drover
