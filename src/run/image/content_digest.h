// SHA-256 in the form in which OCI names content.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace drover {

class ContentDigest {
 public:
  ContentDigest();
  ~ContentDigest();
  ContentDigest(ContentDigest&&) noexcept;
  ContentDigest& operator=(ContentDigest&&) noexcept;

  void add(std::string_view bytes);
  /// "sha256:…"; once.
  std::string text();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* it) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string digest_of(std::string_view bytes);
/// The sixty-four digits of "sha256:…".
std::string digest_digits(std::string_view digest);

}  // namespace drover
