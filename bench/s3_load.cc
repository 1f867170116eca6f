// Clients of S3, as fast as a server lets them: a thread and a keep-alive connection each.
//
//   s3_load HOST PORT KEY BUCKET put|get SIZE CONNECTIONS SECONDS OBJECTS
//     puts objects of that size, or gets them, under OBJECTS keys in turn, for so long, and each key at least once
//   s3_load HOST PORT KEY BUCKET fill CONNECTIONS OBJECTS
//     puts so many objects of 16 bytes
//   s3_load HOST PORT KEY BUCKET list CONNECTIONS SECONDS
//     lists the bucket, page by page, from the beginning to the end, again and again
//   s3_load HOST PORT - FOLDER plain SIZE CONNECTIONS SECONDS OBJECTS
//     gets /FOLDER/SIZE-NUMBER, without a signature
//
// A line of JSON when it begins, but for `fill`, and one when it has ended: seconds, requests, bytes, and keys that
// were listed.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "base/url.h"
#include "measure.h"
#include "wire/aws/canonical_request.h"
#include "wire/aws/signing_key.h"
#include "wire/aws/signing_time.h"
#include "wire/digest.h"

namespace drover {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{256} << 10;
constexpr std::string_view kSignedHeaders = "host;x-amz-content-sha256;x-amz-date";

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

struct Place {
  std::string host;
  int port = 0;
  std::string key;  // "-": requests are not signed
  std::string bucket;
};

/// One connection, which waits for each answer. Whatever goes wrong ends the program.
class Client {
 public:
  explicit Client(const Place& place) : place_(place), buffer_(kReadAtOnce, '\0') {
    const std::size_t dot = place.key.find('.');
    if (dot != std::string::npos) {
      key_id_ = place.key.substr(0, dot);
      secret_ = place.key.substr(dot + 1);
    }
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(place.port));
    ::inet_pton(AF_INET, place.host.c_str(), &to.sin_addr);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) give_up("cannot connect");
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  /// The size of the answer's body; the body itself, if it is wanted.
  std::uint64_t ask(std::string_view method, const std::string& path, const std::string& query, std::string_view body,
                    const std::string& digest, std::string* wanted = nullptr) {
    std::string head =
        concat(method, " ", path, query.empty() ? "" : "?", query, " HTTP/1.1\r\nHost: ", host(), "\r\n");
    if (!secret_.empty()) head += signature(method, path, query, digest);
    if (method == "PUT") head += concat("Content-Length: ", body.size(), "\r\n");
    head += "\r\n";
    if (body.size() <= 65536) {
      head += body;
      write(head);
    } else {
      write(head);
      write(body);
    }
    return read(wanted);
  }

 private:
  std::string host() const { return concat(place_.host, ":", place_.port); }

  std::string signature(std::string_view method, const std::string& path, const std::string& query,
                        const std::string& digest) {
    const std::string date = aws::signing_time(now_ms());
    if (!signer_ || scope_.day != std::string_view(date).substr(0, 8)) {
      scope_ = {.day = date.substr(0, 8), .region = "us-east-1", .service = "s3"};
      signer_.emplace(secret_, scope_);
    }
    const std::string canonical =
        concat(method, "\n", path, "\n", query, "\nhost:", host(), "\nx-amz-content-sha256:", digest,
               "\nx-amz-date:", date, "\n\n", kSignedHeaders, "\n", digest);
    return concat("x-amz-date: ", date, "\r\nx-amz-content-sha256: ", digest,
                  "\r\nAuthorization: AWS4-HMAC-SHA256 Credential=", key_id_, "/", scope_.text(),
                  ", SignedHeaders=", kSignedHeaders,
                  ", Signature=", signer_->sign(aws::string_to_sign(date, scope_, canonical)), "\r\n");
  }

  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) give_up("the server has left");
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  std::string_view more() {
    const ssize_t got = ::recv(socket_, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) give_up("the server has left");
    return std::string_view(buffer_).substr(0, static_cast<std::size_t>(got));
  }

  std::uint64_t read(std::string* wanted) {
    std::string head;
    std::size_t end = std::string::npos;
    while ((end = head.find("\r\n\r\n")) == std::string::npos) head += more();
    std::string body = head.substr(end + 4);
    head.resize(end + 2);
    if (!head.starts_with("HTTP/1.1 20")) give_up(concat("an answer that is none: ", head, body));
    const std::string small = in_small_letters(head);
    if (small.contains("transfer-encoding: chunked")) {
      while (!body.ends_with("0\r\n\r\n")) body += more();
      if (wanted != nullptr) *wanted = body;  // with its framing, which no reader here minds
      return body.size();
    }
    const std::size_t at = small.find("content-length: ");
    if (at == std::string::npos) give_up("an answer without a length");
    std::uint64_t length = 0;
    std::from_chars(small.data() + at + 16, small.data() + small.size(), length);
    std::uint64_t size = body.size();
    while (size < length) {
      const std::string_view some = more();
      size += some.size();
      if (wanted != nullptr) body += some;
    }
    if (wanted != nullptr) *wanted = std::move(body);
    return length;
  }

  const Place place_;
  int socket_ = -1;
  std::string key_id_;
  std::string secret_;
  aws::SigningScope scope_;
  std::optional<aws::SigningKey> signer_;
  std::string buffer_;
};

struct Totals {
  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::atomic<std::uint64_t> keys = 0;
};

std::string text_between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  text.remove_prefix(at + before.size());
  return std::string(text.substr(0, text.find(after)));
}

std::uint64_t occurrences(std::string_view text, std::string_view word) {
  std::uint64_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string_view::npos; at += word.size()) ++count;
  return count;
}

/// One page; where the next begins, or nothing.
std::string list_page(Client& client, const Place& place, const std::string& token, Totals& totals) {
  const std::string empty = hex(sha256(""));
  std::string page;
  const std::string query =
      token.empty() ? "list-type=2" : concat("continuation-token=", percent_encoded(token), "&list-type=2");
  totals.bytes += client.ask("GET", concat("/", place.bucket), query, "", empty, &page);
  totals.keys += occurrences(page, "<Key>");
  ++totals.requests;
  return text_between(page, "<NextContinuationToken>", "</NextContinuationToken>");
}

template <class Work>
void run(std::size_t connections, Work work) {
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < connections; ++i) threads.emplace_back([&work, i] { work(i); });
  for (std::thread& it : threads) it.join();
}

std::string body_of(std::size_t size) {
  std::string out(size, '\0');
  Random random(size);
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    const std::uint64_t number = random.next();
    std::memcpy(out.data() + at, &number, 8);
  }
  return out;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  using namespace drover;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() < 7) give_up("usage: see the beginning of s3_load.cc");
  const Place place{words[0], std::stoi(words[1]), words[2], words[3]};
  const std::string& mode = words[4];
  Totals totals;
  const Stopwatch watch;
  if (mode == "fill") {
    const std::size_t connections = std::stoul(words[5]);
    const std::uint64_t objects = std::stoull(words[6]);
    const std::string body = body_of(16);
    const std::string digest = hex(sha256(body));
    run(connections, [&](std::size_t thread) {
      Client client(place);
      for (std::uint64_t i = thread; i < objects; i += connections) {
        client.ask("PUT", concat("/", place.bucket, "/", i / 1000, "/", i), "", body, digest);
        ++totals.requests;
      }
    });
  } else if (mode == "list") {
    const std::size_t connections = std::stoul(words[5]);
    const double seconds = std::stod(words[6]);
    std::puts("{}");
    std::fflush(stdout);
    run(connections, [&](std::size_t) {
      Client client(place);
      std::string token;
      do {
        token = list_page(client, place, token, totals);
      } while (watch.seconds() < seconds);
    });
  } else {
    if (words.size() < 9) give_up("usage: see the beginning of s3_load.cc");
    const std::size_t size = std::stoul(words[5]);
    const std::size_t connections = std::stoul(words[6]);
    const double seconds = std::stod(words[7]);
    const std::uint64_t objects = std::stoull(words[8]);
    const bool puts = mode == "put";
    const std::string body = puts ? body_of(size) : std::string();
    const std::string digest = hex(sha256(body));
    std::puts("{}");  // now it begins
    std::fflush(stdout);
    const Stopwatch from_here;
    run(connections, [&](std::size_t thread) {
      Client client(place);
      std::uint64_t number = thread * objects / connections;
      const std::uint64_t next_ones = (thread + 1) * objects / connections;
      do {
        const std::string path = concat("/", place.bucket, "/", size, "-", number++ % objects);
        const std::uint64_t got = client.ask(puts ? "PUT" : "GET", path, "", body, digest);
        if (!puts && got != size) give_up("an object has another size");
        totals.bytes += size;
        ++totals.requests;
      } while (from_here.seconds() < seconds || (puts && number < next_ones));
    });
    std::printf("{\"seconds\": %.6f, \"requests\": %llu, \"bytes\": %llu, \"keys\": 0}\n", from_here.seconds(),
                static_cast<unsigned long long>(totals.requests), static_cast<unsigned long long>(totals.bytes));
    return 0;
  }
  std::printf("{\"seconds\": %.6f, \"requests\": %llu, \"bytes\": %llu, \"keys\": %llu}\n", watch.seconds(),
              static_cast<unsigned long long>(totals.requests), static_cast<unsigned long long>(totals.bytes),
              static_cast<unsigned long long>(totals.keys));
  return 0;
}
