// The limit of SQS over HTTP with durable commits: one thread, no checks of what it is sent, and answers of the same
// shape and size. sqs_bare FOLDER. Prints a line of JSON with its port, and serves one queue until it is killed.
//
// What it does that Drover's server also has to do: it reads requests, inserts a row for each message that is sent, a
// row for each that is received, deletes both rows for each that is deleted, commits durably once for all requests of a
// loop turn, and only then answers. What it does not do: verify signatures, parse JSON, compute MD5, keep times, or
// read rows back.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sqlite3.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "measure.h"

namespace drover {
namespace {

/// The text between `before` and the next quote, starting at `at`, which then points after it. False if not found.
bool next_value(std::string_view text, std::string_view before, std::size_t& at, std::string_view& value) {
  const std::size_t found = text.find(before, at);
  if (found == std::string_view::npos) return false;
  const std::size_t first = found + before.size();
  at = text.find('"', first);
  value = text.substr(first, at - first);
  return true;
}

std::string padded(std::uint64_t number, std::size_t digits) {
  std::string out = std::to_string(number);
  return out.insert(0, digits - out.size(), '0');
}

/// As long as the real ones.
std::string message_id(std::uint64_t message) {
  return padded(message, 36);
}
std::string receipt_handle(std::uint64_t message) {
  return padded(message, 44);
}
const std::string kMd5(32, '0');

/// The rows, and what the server knows of them without asking.
class BareQueue {
 public:
  explicit BareQueue(const std::string& database) {
    demand(sqlite3_open(database.c_str(), &db_), SQLITE_OK);
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = FULL");
    run("PRAGMA cache_size = -16384");
    run("CREATE TABLE messages(message INTEGER PRIMARY KEY, body BLOB)");
    run("CREATE TABLE in_flight(message INTEGER PRIMARY KEY, visible_ms INTEGER)");
    insert_ = prepared("INSERT INTO messages VALUES(?, ?)");
    take_ = prepared("INSERT INTO in_flight VALUES(?, 1)");
    remove_message_ = prepared("DELETE FROM messages WHERE message = ?");
    remove_in_flight_ = prepared("DELETE FROM in_flight WHERE message = ?");
  }

  std::uint64_t send(std::string_view body) {
    const std::uint64_t message = ++last_;
    sqlite3_bind_blob(insert_, 2, body.data(), static_cast<int>(body.size()), SQLITE_STATIC);
    step(insert_, message);
    waiting_.push_back({message, std::string(body)});
    return message;
  }

  struct Message {
    std::uint64_t number = 0;
    std::string body;
  };
  std::vector<Message> receive(std::size_t most) {
    std::vector<Message> out;
    for (; out.size() < most && !waiting_.empty(); waiting_.pop_front()) {
      step(take_, waiting_.front().number);
      out.push_back(std::move(waiting_.front()));
    }
    return out;
  }

  void remove(std::uint64_t message) {
    step(remove_message_, message);
    step(remove_in_flight_, message);
  }

  void commit() {
    if (is_open_) run("COMMIT");
    is_open_ = false;
  }

 private:
  void demand(int code, int wanted) {
    if (code != wanted) give_up(sqlite3_errmsg(db_));
  }
  void run(const char* sql) { demand(sqlite3_exec(db_, sql, nullptr, nullptr, nullptr), SQLITE_OK); }
  sqlite3_stmt* prepared(const char* sql) {
    sqlite3_stmt* out = nullptr;
    demand(sqlite3_prepare_v3(db_, sql, -1, SQLITE_PREPARE_PERSISTENT, &out, nullptr), SQLITE_OK);
    return out;
  }
  void step(sqlite3_stmt* statement, std::uint64_t message) {
    if (!is_open_) run("BEGIN IMMEDIATE");
    is_open_ = true;
    sqlite3_bind_int64(statement, 1, static_cast<sqlite3_int64>(message));
    demand(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
  }

  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* take_ = nullptr;
  sqlite3_stmt* remove_message_ = nullptr;
  sqlite3_stmt* remove_in_flight_ = nullptr;
  bool is_open_ = false;
  std::uint64_t last_ = 0;
  std::deque<Message> waiting_;
};

std::string sent(BareQueue& queue, std::string_view body, bool is_batch) {
  std::string out = is_batch ? R"({"Successful":[)" : "";
  std::string_view text;
  int entry = 0;
  for (std::size_t at = 0; next_value(body, R"("MessageBody":")", at, text); ++entry) {
    const std::string answer =
        concat(R"("MD5OfMessageBody":")", kMd5, R"(","MessageId":")", message_id(queue.send(text)), R"("})");
    out += is_batch ? concat(entry == 0 ? "" : ",", R"({"Id":")", entry, R"(",)", answer) : concat("{", answer);
  }
  return out + (is_batch ? "]}" : "");
}

std::string received(BareQueue& queue, std::string_view body) {
  constexpr std::string_view kMost = R"("MaxNumberOfMessages":)";
  const std::size_t most = std::strtoull(body.data() + body.find(kMost) + kMost.size(), nullptr, 10);
  std::string out;
  for (const BareQueue::Message& it : queue.receive(most)) {
    out += concat(out.empty() ? R"({"Messages":[)" : ",", R"({"MessageId":")", message_id(it.number),
                  R"(","ReceiptHandle":")", receipt_handle(it.number), R"(","Body":")", it.body, R"(","MD5OfBody":")",
                  kMd5, R"("})");
  }
  return out.empty() ? "{}" : out + "]}";
}

std::string removed(BareQueue& queue, std::string_view body, bool is_batch) {
  std::string out = is_batch ? R"({"Successful":[)" : "{";
  std::string_view handle;
  int entry = 0;
  for (std::size_t at = 0; next_value(body, R"("ReceiptHandle":")", at, handle); ++entry) {
    std::uint64_t message = 0;
    std::from_chars(handle.begin(), handle.end(), message);
    queue.remove(message);
    if (is_batch) out += concat(entry == 0 ? "" : ",", R"({"Id":")", entry, R"("})");
  }
  return out + (is_batch ? "]}" : "}");
}

std::string answer_to(BareQueue& queue, std::string_view head, std::string_view body) {
  constexpr std::string_view kTarget = "AmazonSQS.";
  const std::string_view operation = head.substr(head.find(kTarget) + kTarget.size());
  if (operation.starts_with("ReceiveMessage")) return received(queue, body);
  if (operation.starts_with("SendMessage")) return sent(queue, body, operation.starts_with("SendMessageBatch"));
  return removed(queue, body, operation.starts_with("DeleteMessageBatch"));
}

struct Connection {
  std::string in;
  std::string out;
};

/// Answers a request that is complete.
void read_request(BareQueue& queue, Connection& connection) {
  const std::string_view in = connection.in;
  const std::size_t end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) return;
  constexpr std::string_view kLength = "Content-Length: ";
  const std::size_t length = std::strtoull(in.data() + in.find(kLength) + kLength.size(), nullptr, 10);
  if (in.size() < end + 4 + length) return;
  const std::string answer = answer_to(queue, in.substr(0, end), in.substr(end + 4, length));
  connection.out =
      concat("HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nx-amzn-RequestId: ", message_id(0),
             "\r\nContent-Type: application/x-amz-json-1.0\r\nX-Request-Id: 0000000000000000\r\nContent-Length: ",
             answer.size(), "\r\n\r\n", answer);
  connection.in.erase(0, end + 4 + length);
}

int listening_socket() {
  const int out = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof address;
  if (::bind(out, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(out, 1024) != 0 ||
      ::getsockname(out, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    give_up(errno_error(errno, "cannot listen").message);
  }
  std::printf("{\"port\": %d}\n", ntohs(address.sin_port));
  std::fflush(stdout);
  return out;
}

[[noreturn]] void serve(const std::string& folder) {
  BareQueue queue(folder + "/queue.db");
  const int listening = listening_socket();
  const int poll = ::epoll_create1(EPOLL_CLOEXEC);
  const auto watch = [&](int socket) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = socket}};
    ::epoll_ctl(poll, EPOLL_CTL_ADD, socket, &event);
  };
  watch(listening);
  std::map<int, Connection> connections;
  while (true) {
    epoll_event events[256];
    const int ready = ::epoll_wait(poll, events, 256, -1);
    for (int i = 0; i < ready; ++i) {
      const int socket = events[i].data.fd;
      if (socket == listening) {
        const int accepted = ::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC);
        const int yes = 1;
        ::setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        connections[accepted] = {};
        watch(accepted);
        continue;
      }
      char buffer[65536];
      const ssize_t got = ::recv(socket, buffer, sizeof buffer, 0);
      if (got <= 0) {
        ::close(socket);
        connections.erase(socket);
        continue;
      }
      connections[socket].in.append(buffer, static_cast<std::size_t>(got));
      read_request(queue, connections[socket]);
    }
    queue.commit();
    for (int i = 0; i < ready; ++i) {
      const auto found = connections.find(events[i].data.fd);
      if (found == connections.end() || found->second.out.empty()) continue;
      // At most one answer is under way on a connection, and there is room for it.
      const std::string& out = found->second.out;
      if (::send(found->first, out.data(), out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(out.size())) {
        give_up("cannot send");
      }
      found->second.out.clear();
    }
  }
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  if (argc != 2) drover::give_up("usage: sqs_bare FOLDER");
  drover::serve(argv[1]);
}
