#include "wire/aws/chunk_signer.h"

#include <gtest/gtest.h>

#include "wire/digest.h"

namespace drover::aws {
namespace {

// The examples of S3's manual: 66,560 times 'a', in chunks of 64 KiB.
const SigningScope kChunkScope{"20130524", "us-east-1", "s3"};

ChunkSigner signer_of(const char* seed) {
  return {std::make_shared<SigningKey>("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", kChunkScope), "20130524T000000Z",
          kChunkScope, seed};
}

TEST(ChunkSigner, SignsTheManualsChunks) {
  ChunkSigner signer = signer_of("4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9");
  EXPECT_EQ(signer.sign_chunk(sha256(std::string(65536, 'a'))),
            "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
  EXPECT_EQ(signer.sign_chunk(sha256(std::string(1024, 'a'))),
            "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497");
  EXPECT_EQ(signer.sign_chunk(sha256("")), "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9");
}

TEST(ChunkSigner, SignsTheManualsTrailer) {
  ChunkSigner signer = signer_of("106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e");
  EXPECT_EQ(signer.sign_chunk(sha256(std::string(65536, 'a'))),
            "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2");
  EXPECT_EQ(signer.sign_chunk(sha256(std::string(1024, 'a'))),
            "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7");
  EXPECT_EQ(signer.sign_chunk(sha256("")), "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992");
  EXPECT_EQ(signer.sign_trailer(sha256("x-amz-checksum-crc32c:sOO8/Q==\n")),
            "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435");
}

}  // namespace
}  // namespace drover::aws
