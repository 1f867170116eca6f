#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <fstream>

#include "net/certificate_fixture.h"
#include "net/file_body.h"
#include "net/http_client.h"
#include "net/server_fixture.h"

namespace drover {
namespace {

/// How many pages of the file's first bytes are in the page cache, of how many.
std::pair<std::size_t, std::size_t> cached_pages(int file, std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> resident((bytes + page - 1) / page);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  EXPECT_EQ(::mincore(mapped, bytes, resident.data()), 0);
  ::munmap(mapped, bytes);
  return {std::ranges::count_if(resident, [](unsigned char it) { return (it & 1U) != 0; }), resident.size()};
}

/// Answers with a part of a file.
class FileBodyTest : public ServerTest {
 protected:
  FileBodyTest() {
    handler_.on_request = [this](const HttpRequest& request, HttpReply reply) {
      if (request.head.path != "/file") return reply.send(text_response(request.head.query));
      reply.send({.status = 200, .headers = {}, .body = {}}, HttpFilePart{open_file(), offset_, size_});
    };
  }
  ~FileBodyTest() override { ::unlink(path_.c_str()); }

  void write_file(std::size_t size) {
    bytes_.resize(size);
    for (std::size_t i = 0; i < size; ++i) bytes_[i] = static_cast<char>(i * 31 + i / 4096);
    std::ofstream(path_, std::ios::binary) << bytes_;
    size_ = size;
  }
  Descriptor open_file() const { return Descriptor(::open(path_.c_str(), O_RDONLY | O_CLOEXEC)); }
  /// As far as its file system can.
  void evict_file() const {
    const Descriptor file = open_file();
    ASSERT_EQ(::fsync(file.get()), 0);
    ASSERT_EQ(::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  }

  const std::string path_ = testing::TempDir() + "drover-file-body-" + std::to_string(::getpid());
  std::string bytes_;
  std::atomic<std::uint64_t> offset_ = 0;
  std::atomic<std::uint64_t> size_ = 0;
};

class AnyFileBodyTest : public FileBodyTest, public testing::WithParamInterface<bool> {
 protected:
  std::unique_ptr<HttpClient> client() {
    const bool is_private = GetParam();
    if (is_private) options_.tls = authority_.issue("first");
    start();
    auto made = make_http_client({.base = (is_private ? "https://" : "http://") + address_,
                                  .token = {},
                                  .ca_pem = is_private ? authority_.pem() : std::string()});
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  Authority authority_{"authority"};
};
INSTANTIATE_TEST_SUITE_P(InPlainAndEncrypted, AnyFileBodyTest, testing::Bool());

TEST_P(AnyFileBodyTest, AllOfItAPartOfItAndNothingOfIt) {
  write_file(20 * kMiB + 7);
  const auto asking = client();
  for (const auto& [offset, size] : {std::pair(std::size_t{0}, bytes_.size()), std::pair(3 * kMiB + 1, kMiB + 5),
                                     std::pair(bytes_.size() - 1, std::size_t{1}), std::pair(kMiB, std::size_t{0})}) {
    offset_ = offset;
    size_ = size;
    const auto answer = asking->call({.path = "/file", .may_repeat = true});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_TRUE(answer->body == bytes_.substr(offset, size)) << offset << " " << size << " " << answer->body.size();
  }
}

TEST_P(AnyFileBodyTest, OneThatIsNotInMemory) {
  write_file(20 * kMiB + 7);
  evict_file();
  const auto answer = client()->call({.path = "/file", .may_repeat = true});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->body == bytes_);
}

TEST_P(AnyFileBodyTest, PartsThatComeOneBehindAnother) {
  write_file(3 * kMiB);
  // Of each, where it begins and how long it is. Some are empty.
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> parts{{kMiB, 0}, {0, kMiB + 1}, {5, 2 * kMiB},
                                                                   {7, 0},    {9, 1},        {3, 0}};
  std::function<HttpFilePart(std::size_t)> part = [&](std::size_t i) {
    HttpFilePart out{open_file(), parts[i].first, parts[i].second};
    for (std::size_t behind = i + 1; behind < parts.size(); ++behind) out.size_behind += parts[behind].second;
    if (i + 1 < parts.size()) out.next = [&part, i]() -> Result<HttpFilePart> { return part(i + 1); };
    return out;
  };
  bool breaks = false;
  handler_.on_request = [&](const HttpRequest& /*request*/, HttpReply reply) {
    HttpFilePart first = part(0);
    if (breaks) first.next = [] { return fail(ErrorCode::damaged, "it is gone"); };
    reply.send({.status = 200, .headers = {}, .body = {}}, std::move(first));
  };
  const auto asking = client();
  const auto answer = asking->call({.path = "/file", .may_repeat = true});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_TRUE(answer->body == bytes_.substr(0, kMiB + 1) + bytes_.substr(5, 2 * kMiB) + bytes_.substr(9, 1));
  breaks = true;
  EXPECT_FALSE(asking->call({.path = "/file"}));
}

TEST_P(AnyFileBodyTest, AFileThatIsShorterThanWasSaidIsNotTakenForWhole) {
  write_file(kMiB);
  size_ = 2 * kMiB;
  const auto asking = client();
  EXPECT_FALSE(asking->call({.path = "/file"}));
  size_ = kMiB;
  const auto next = asking->call({.path = "/file", .may_repeat = true});
  ASSERT_TRUE(next) << next.error().message;
  EXPECT_EQ(next->body.size(), kMiB);
}

TEST_F(FileBodyTest, WhatIsNotInMemoryIsNotSentFromThere) {
  write_file(kMiB);
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
  const Descriptor near(sockets[0]);
  const Descriptor far(sockets[1]);
  const auto expect_sent_only_from_memory = [&] {
    HttpFilePart part{.file = open_file(), .size = kMiB};
    const auto [cached, all] = cached_pages(part.file.get(), kMiB);
    const FileSent sent = send_cached_part(near.get(), part);
    if (cached == 0) {
      EXPECT_EQ(sent, FileSent::not_in_memory);
    }
    if (sent == FileSent::not_in_memory) {
      EXPECT_EQ(part.size, kMiB);
    } else {
      EXPECT_GE(2 * cached, all) << "parts of it may be evicted at any time";
      EXPECT_LT(part.size, kMiB);
      std::string got(kMiB, '\0');
      const ssize_t size = ::recv(far.get(), got.data(), got.size(), 0);
      ASSERT_GT(size, 0);
      EXPECT_TRUE(bytes_.starts_with(std::string_view(got).substr(0, static_cast<std::size_t>(size))));
    }
  };
  expect_sent_only_from_memory();
  evict_file();
  expect_sent_only_from_memory();
  HttpFilePart ended{.file = open_file(), .size_behind = 1};
  EXPECT_EQ(send_cached_part(near.get(), ended), FileSent::not_in_memory);
}

TEST_F(FileBodyTest, ItsLengthIsStatedAndHeadGetsNothingElse) {
  write_file(1000);
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("HEAD /file HTTP/1.1\r\nHost: x\r\n\r\nGET /else?next HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::string got;
  while (!got.contains("next")) {
    const std::string some = peer.read_some();
    ASSERT_FALSE(some.empty());
    got += some;
  }
  EXPECT_TRUE(got.contains("Content-Length: 1000\r\n")) << got;
  EXPECT_LT(got.size(), 800);
}

TEST_F(FileBodyTest, ItWaitsForASlowPeerAndGoesOnWithIt) {
  write_file(64 * kMiB);
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET /file HTTP/1.1\r\nHost: x\r\n\r\nGET /else?next HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(handler_.requests, 1) << "the next one waits behind it";
  EXPECT_TRUE(peer.read_response().body == bytes_);
  EXPECT_EQ(peer.read_response().body, "next");
}

TEST_F(FileBodyTest, APeerThatLeavesInTheMiddleHarmsNobody) {
  write_file(64 * kMiB);
  start();
  for (int i = 0; i < 5; ++i) {
    RawPeer peer = connect();
    ASSERT_TRUE(peer.send("GET /file HTTP/1.1\r\nHost: x\r\n\r\n"));
    EXPECT_FALSE(peer.read_some().empty());
    peer.slam();
  }
  expect_well();
}

TEST_F(FileBodyTest, APeerThatTakesNothingIsCut) {
  options_.limits.progress_ms = 200;
  write_file(64 * kMiB);
  start();
  RawPeer peer = connect();
  ASSERT_TRUE(peer.send("GET /file HTTP/1.1\r\nHost: x\r\n\r\n"));
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::size_t got = 0;
  for (std::string some = peer.read_some(); !some.empty(); some = peer.read_some()) got += some.size();
  EXPECT_LT(got, bytes_.size());
  expect_well();
}

}  // namespace
}  // namespace drover
