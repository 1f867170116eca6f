#include "wire/checksums.h"

#include <openssl/evp.h>

#include <array>
#include <bit>
#include <cstring>

namespace drover {
namespace {

// A reflected CRC, eight bytes at a time: table[k] is what a byte does that has k more of the eight behind it.
using CrcTables = std::array<std::array<std::uint64_t, 256>, 8>;

constexpr CrcTables crc_tables(std::uint64_t reversed_polynomial) {
  CrcTables tables{};
  for (std::uint64_t byte = 0; byte < 256; ++byte) {
    std::uint64_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? reversed_polynomial : 0);
    tables[0][byte] = value;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint64_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

const CrcTables& tables_of(ChecksumKind kind) {
  static const CrcTables of_crc32 = crc_tables(0xedb88320);
  static const CrcTables of_crc32c = crc_tables(0x82f63b78);
  static const CrcTables of_crc64nvme = crc_tables(0x9a6c9329ac4bc9b5);
  if (kind == ChecksumKind::crc32) return of_crc32;
  return kind == ChecksumKind::crc32c ? of_crc32c : of_crc64nvme;
}

const EVP_MD* digest_of(ChecksumKind kind) {
  if (kind == ChecksumKind::md5) return EVP_md5();
  return kind == ChecksumKind::sha1 ? EVP_sha1() : EVP_sha256();
}

}  // namespace

class Checksums::Sum {
 public:
  Sum() = default;
  virtual ~Sum() = default;
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;
  virtual void add(std::string_view bytes) = 0;
  virtual std::string finish() = 0;
};

class Checksums::Crc : public Sum {
 public:
  explicit Crc(ChecksumKind kind) : tables_(tables_of(kind)), size_(kind == ChecksumKind::crc64nvme ? 8 : 4) {}

  void add(std::string_view bytes) override {
    std::uint64_t value = value_;
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, bytes.data(), 8);
      if constexpr (std::endian::native == std::endian::big) eight = std::byteswap(eight);
      eight ^= value;
      value = 0;
      for (std::size_t i = 0; i < 8; ++i) value ^= tables_[7 - i][(eight >> (8 * i)) & 0xff];
    }
    for (const char c : bytes) value = (value >> 8) ^ tables_[0][(value ^ static_cast<unsigned char>(c)) & 0xff];
    value_ = value;
  }
  std::string finish() override {
    std::string out;
    for (std::size_t i = size_; i-- > 0;) out += static_cast<char>(~value_ >> (8 * i));
    return out;
  }

 private:
  const CrcTables& tables_;
  const std::size_t size_;
  std::uint64_t value_ = size_ == 8 ? ~std::uint64_t{0} : 0xffffffff;
};

class Checksums::Digest : public Sum {
 public:
  explicit Digest(ChecksumKind kind) : context_(EVP_MD_CTX_new()) {
    is_known_ = EVP_DigestInit_ex(context_, digest_of(kind), nullptr) == 1;
  }
  ~Digest() override { EVP_MD_CTX_free(context_); }

  void add(std::string_view bytes) override {
    if (is_known_) EVP_DigestUpdate(context_, bytes.data(), bytes.size());
  }
  std::string finish() override {
    if (!is_known_) return {};
    std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_, out.data(), &size);
    return {out.begin(), out.begin() + size};
  }

 private:
  EVP_MD_CTX* const context_;
  bool is_known_ = false;
};

Checksums::Checksums(const std::vector<ChecksumKind>& kinds) {
  for (const ChecksumKind kind : kinds) {
    if (kind <= ChecksumKind::crc64nvme) {
      sums_[kind] = std::make_unique<Crc>(kind);
    } else {
      sums_[kind] = std::make_unique<Digest>(kind);
    }
  }
}

Checksums::~Checksums() = default;
Checksums::Checksums(Checksums&&) noexcept = default;
Checksums& Checksums::operator=(Checksums&&) noexcept = default;

void Checksums::add(std::string_view bytes) {
  for (const auto& [kind, sum] : sums_) sum->add(bytes);
}

std::map<ChecksumKind, std::string> Checksums::finish() {
  std::map<ChecksumKind, std::string> out;
  for (const auto& [kind, sum] : sums_) out[kind] = sum->finish();
  return out;
}

namespace {

std::uint64_t number_from(std::string_view bytes) {
  std::uint64_t out = 0;
  for (const char c : bytes) out = out << 8 | static_cast<unsigned char>(c);
  return out;
}

// Of polynomials over one bit, modulo the CRC's, in the order of bits that a reflected CRC has: the lowest power is the
// highest bit.
std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t polynomial, std::uint64_t one) {
  std::uint64_t out = 0;
  for (std::uint64_t bit = one; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) out ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? polynomial : 0);
  }
  return out;
}

}  // namespace

// Bytes that follow multiply the CRC of those before by x to the power of their bits.
std::string combined_crc(ChecksumKind kind, std::string_view first, std::string_view second,
                         std::uint64_t second_size) {
  const std::uint64_t one = kind == ChecksumKind::crc64nvme ? std::uint64_t{1} << 63 : std::uint64_t{1} << 31;
  const std::uint64_t polynomial = tables_of(kind)[0][128];  // of the last bit alone
  std::uint64_t shift = one;
  std::uint64_t power = one >> 8;  // x to the power of the bits of one byte
  for (std::uint64_t left = second_size; left > 0; left >>= 1) {
    if ((left & 1) != 0) shift = product(shift, power, polynomial, one);
    power = product(power, power, polynomial, one);
  }
  const std::uint64_t value = product(number_from(first), shift, polynomial, one) ^ number_from(second);
  std::string out;
  for (std::size_t i = first.size(); i-- > 0;) out += static_cast<char>(value >> (8 * i));
  return out;
}

}  // namespace drover
