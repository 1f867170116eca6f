#include "bad_request.h"

#include <array>
#include <functional>

#include "wire/worker_protocol.h"

namespace hostile {
namespace {

using std::string;
using std::string_view;

std::uint64_t below(Dice& dice, std::uint64_t bound) {
  return dice() % bound;
}

template <class Range>
auto one_of(Dice& dice, const Range& range) {
  return *(std::begin(range) + static_cast<std::ptrdiff_t>(below(dice, std::size(range))));
}

string noise(Dice& dice, std::size_t most) {
  string bytes(1 + below(dice, most), '\0');
  for (char& byte : bytes) byte = static_cast<char>(dice());
  return bytes;
}

/// A few bytes changed, put in, taken out or said again.
string mutated(Dice& dice, string bytes) {
  for (std::uint64_t times = 1 + below(dice, 4); times > 0 && !bytes.empty(); --times) {
    const std::size_t at = below(dice, bytes.size());
    switch (below(dice, 4)) {
      case 0: bytes[at] = static_cast<char>(dice()); break;
      case 1: bytes.insert(at, noise(dice, 8)); break;
      case 2: bytes.erase(at, 1 + below(dice, 8)); break;
      default: bytes.insert(at, bytes.substr(at, 1 + below(dice, 32))); break;
    }
  }
  return bytes;
}

string head(const Target& target, string_view method_and_path) {
  return string(method_and_path) + " HTTP/1.1\r\nHost: drover\r\nAuthorization: Bearer " + target.key + "\r\n";
}

string with_body(const Target& target, string_view path, const string& body) {
  return head(target, "POST " + string(path)) + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

string good_get(const Target& target) {
  return head(target, "GET " + target.probe) + "\r\n";
}

// Always refused, but read to its end first: the last field is none that there is.
const string kJob =
    R"({"name":"bad","command":["true","{}"],"items":["a","b",{"c":1}],"retries":2,"env":{"A":"b"},"nonsense":1})";

/// Of a worker that nobody has registered.
string worker_message(Dice& dice, string_view call) {
  const drover::Report report{.worker = drover::WorkerId{987654321},
                              .incarnation = 12345,
                              .ended = {{.token = {drover::GrantId{1}, drover::ItemIndex{2}}}},
                              .running = {{{drover::GrantId{3}, drover::ItemIndex{4}}, 5}},
                              .returned = {{drover::GrantId{6}, drover::ItemIndex{7}}}};
  if (call == "poll") {
    drover::WorkerPoll poll;
    poll.poll.report = report;
    poll.poll.number = drover::PollNumber{9};
    poll.poll.wait_ms = 5;
    poll.poll.not_now = {drover::JobId{8}};
    poll.frames = {"no frame"};
    poll.ended_frames = {{0}};
    return encode(poll);
  }
  if (call == "report") return encode(drover::WorkerReport{report, {noise(dice, 200)}, {{0}}});
  if (call == "register") return encode(drover::WorkerHello{.protocol = 99, .name = "phantom", .incarnation = 7});
  if (call == "logs") return drover::encode_texts({noise(dice, 100), "no frame"});
  if (call == "job") return drover::encode_job_number(drover::JobId{dice()});
  return encode(drover::ItemRange{drover::JobId{1}, drover::ItemIndex{dice()}, dice()});
}

BadRequest random_bytes(Dice& dice, const Target&) {
  return {.kind = "random_bytes", .pieces = {{noise(dice, 300)}}, .ending = Ending::half_close};
}

BadRequest mutated_head(Dice& dice, const Target& target) {
  return {.kind = "mutated_head",
          .pieces = {{mutated(dice, good_get(target))}},
          .ending = Ending::half_close,
          .allowed = Allowed::well_formed};
}

BadRequest truncated(Dice& dice, const Target& target) {
  const string whole = with_body(target, "/api/v1/jobs", kJob);
  return {.kind = "truncated",
          .pieces = {{whole.substr(0, 1 + below(dice, whole.size() - 1))}},
          .ending = one_of(dice, std::array{Ending::half_close, Ending::leaves, Ending::slams})};
}

BadRequest wrong_length(Dice& dice, const Target& target) {
  static const std::array<string, 9> kLengths = {"99999999999999999999", "-1", "1e3",   "0x10", "18446744073709551616",
                                                 "9223372036854775808",  "",   "12 12", "1,1"};
  string request = head(target, "POST /api/v1/jobs") + "Content-Length: " + one_of(dice, kLengths) + "\r\n";
  if (below(dice, 2) == 0) request += "Content-Length: 7\r\n";
  return {.kind = "wrong_length", .pieces = {{request + "\r\n" + kJob}}, .ending = Ending::half_close};
}

BadRequest bad_chunks(Dice& dice, const Target& target) {
  static const std::array<string, 8> kChunks = {
      "xyz\r\nabc\r\n0\r\n\r\n", "-1\r\nabc\r\n0\r\n\r\n", "ffffffffffffffffff\r\nabc", "3\r\nabcdef\r\n0\r\n\r\n",
      "3\nabc\n0\n\n",           "3 \r\nabc\r\n\r\n\r\n",  "7fffffffffffffff\r\nabc",   "5\r\n{\"a\":\r\n0\r\n\r\n"};
  string chunks = one_of(dice, kChunks);
  if (below(dice, 4) == 0) chunks = "1;" + string(40'000, 'x') + "\r\n";
  return {.kind = "bad_chunks",
          .pieces = {{head(target, "POST /api/v1/jobs") + "Transfer-Encoding: chunked\r\n\r\n" + chunks}},
          .ending = Ending::half_close};
}

BadRequest huge_head(Dice& dice, const Target& target) {
  string request = head(target, "GET " + target.probe);
  switch (below(dice, 3)) {
    case 0: request += "X-Long: " + string(40'000 + below(dice, 100'000), 'x') + "\r\n"; break;
    case 1:
      for (int i = 0; i < 5'000; ++i) request += "X-" + std::to_string(i) + ": y\r\n";
      break;
    default: request = head(target, "GET /" + string(50'000, 'a')); break;
  }
  return {.kind = "huge_head", .pieces = {{request + "\r\n"}}};
}

BadRequest smuggled(Dice& dice, const Target& target) {
  static const std::array<string, 10> kFields = {
      "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
      "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
      "Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
      "Content-Length: +4\r\n\r\nabcd",
      "X: a\r\n b\n\r\nContent-Length: 4\r\n\r\nabcd",
      "Host: another\r\n\r\n"};
  return {.kind = "smuggled",
          .pieces = {{head(target, "POST /api/v1/jobs") + one_of(dice, kFields) + good_get(target)}},
          .ending = Ending::half_close};
}

BadRequest bad_protobuf(Dice& dice, const Target& target) {
  static constexpr std::array<string_view, 6> kCalls = {"poll", "report", "register", "logs", "job", "items"};
  const string_view call = one_of(dice, kCalls);
  const string body = below(dice, 3) == 0 ? noise(dice, 400) : mutated(dice, worker_message(dice, call));
  return {.kind = "bad_protobuf",
          .pieces = {{with_body(target, "/worker/v1/" + string(call), body)}},
          .ending = Ending::waits,
          .allowed = Allowed::well_formed};
}

BadRequest bad_json(Dice& dice, const Target& target) {
  string body;
  switch (below(dice, 6)) {
    case 0: body = string(1 + below(dice, 20'000), '['); break;
    case 1: body = R"({"command":["true"],"items":[")" + noise(dice, 20) + "\xff\xfe\"],\"nonsense\":1}"; break;
    case 2: body = R"({"command":["true"],"range":[-9223372036854775808,9223372036854775807],"nonsense":)"; break;
    case 3:
      body = R"({"command":["true"],"range":[1e400,1e-400],"x":)" + string(1 + below(dice, 500), '9') + "}";
      break;
    case 4: body = kJob.substr(0, below(dice, kJob.size())); break;
    default: body = mutated(dice, kJob); break;
  }
  static constexpr std::array<string_view, 3> kPaths = {"/api/v1/jobs", "/api/v1/jobs/none/retry", "/join"};
  return {.kind = "bad_json", .pieces = {{with_body(target, one_of(dice, kPaths), body)}}};
}

BadRequest bad_target(Dice& dice, const Target& target) {
  static constexpr std::array<string_view, 14> kTargets = {"GET /api/v1/jobs/%zz",
                                                           "GET /api/v1/jobs/%",
                                                           "GET /../../etc/passwd",
                                                           "GET /api/v1/../../x",
                                                           "GET //api//v1//jobs",
                                                           "GET /api/v1/jobs?limit=-1",
                                                           "GET /api/v1/jobs?limit=99999999999999999999",
                                                           "GET /api/v1/jobs?limit=%00",
                                                           "DELETE /api/v1/jobs",
                                                           "BREW /api/v1/jobs",
                                                           "GET /api/v1/jobs/none/items/18446744073709551616/log",
                                                           "GET /api/v1/jobs/%c0%ae%c0%ae",
                                                           "GET /worker/v1/poll",
                                                           "PUT /nothing/here"};
  return {.kind = "bad_target", .pieces = {{head(target, one_of(dice, kTargets)) + "\r\n"}}};
}

BadRequest bad_key(Dice& dice, const Target& target) {
  const std::array<string, 6> kinds = {"",
                                       "Authorization: Bearer " + mutated(dice, "AKDRAAAAAAAAAAAAAAAA.") + "\r\n",
                                       "Authorization: Basic dXNlcjpwYXNz\r\n",
                                       "Authorization: Bearer " + string(20'000, 'A') + "\r\n",
                                       "Authorization: Bearer \xff\xfe.\xff\r\n",
                                       "Authorization: Bearer drover-job-" + string(100, '.') + "\r\n"};
  return {.kind = "bad_key",
          .pieces = {{"GET " + target.probe + " HTTP/1.1\r\nHost: drover\r\n" + one_of(dice, kinds) + "\r\n"}},
          .ending = Ending::half_close};
}

BadRequest oversized(Dice& dice, const Target& target) {
  const string length = one_of(dice, std::array<string, 2>{"100000000000", "68000000"});
  const string_view path = one_of(dice, std::array<string_view, 3>{"/join", "/api/v1/jobs", "/worker/v1/report"});
  return {.kind = "oversized",
          .pieces = {
              {head(target, "POST " + string(path)) + "Content-Length: " + length + "\r\n\r\n" + string(4'000, 'x')}}};
}

/// A good request, which must be answered as such, and a bad one behind it on the same connection.
BadRequest bad_behind_good(Dice& dice, const Target& target) {
  return {.kind = "bad_behind_good",
          .pieces = {{good_get(target)},
                     {"GET\r\n" + noise(dice, 50) + "\r\n\r\n", static_cast<std::int64_t>(below(dice, 3))}},
          .ending = Ending::half_close,
          .good_before = 1};
}

/// The beginning of a handshake, and then something else.
BadRequest bad_handshake(Dice& dice, const Target&) {
  string hello = "\x16\x03\x01";
  hello += static_cast<char>(below(dice, 256));
  hello += static_cast<char>(below(dice, 256));
  return {.kind = "bad_handshake", .pieces = {{hello + noise(dice, 600)}}, .ending = Ending::half_close};
}

using Make = BadRequest (*)(Dice&, const Target&);
constexpr std::array<Make, 14> kKinds = {random_bytes, mutated_head, truncated,       wrong_length, bad_chunks,
                                         huge_head,    smuggled,     bad_protobuf,    bad_json,     bad_target,
                                         bad_key,      oversized,    bad_behind_good, bad_handshake};

}  // namespace

BadRequest good_request(const Target& target) {
  return {.kind = "good",
          .pieces = {{head(target, "GET " + target.probe) + "Connection: close\r\n\r\n"}},
          .allowed = Allowed::well_formed};
}

BadRequest bad_request(Dice& dice, const Target& target) {
  BadRequest request = one_of(dice, kKinds)(dice, target);
  if (target.is_tls) {
    // Whatever it says, it says it in plain.
    request.allowed = Allowed::refusal;
    request.good_before = 0;
    request.may_be_alert = true;
  }
  return request;
}

BadRequest slow_request(Dice& dice, const Target& target) {
  const string request = with_body(target, "/api/v1/jobs", kJob);
  const std::size_t body = request.find("\r\n\r\n") + 4;
  switch (below(dice, 3)) {
    case 0: {
      BadRequest drips{.kind = "slow_head", .pieces = {}};
      for (std::size_t at = 0; at < body - 1; ++at) drips.pieces.push_back({request.substr(at, 1), 300});
      return drips;
    }
    case 1: return {.kind = "half_head", .pieces = {{request.substr(0, 1 + below(dice, body - 1))}}};
    default: return {.kind = "half_body", .pieces = {{request.substr(0, body + below(dice, request.size() - body))}}};
  }
}

}  // namespace hostile
