// Requests that no server should be sent: what is sent when, and what may come back.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace hostile {

/// Bytes, sent so long after those before them.
struct Piece {
  std::string bytes;
  std::int64_t after_ms = 0;
};

enum class Ending : std::uint8_t {
  waits,       // for an answer or the end
  half_close,  // says that no more comes, and waits
  leaves,      // without looking at what comes back
  slams,       // the same, with a reset
};

enum class Allowed : std::uint8_t {
  refusal,      // an error as problem JSON, or the connection closed
  well_formed,  // it may have remained a good request: any whole answer
};

struct BadRequest {
  std::string_view kind;
  std::vector<Piece> pieces;
  Ending ending = Ending::waits;
  Allowed allowed = Allowed::refusal;
  int good_before = 0;        // so many good requests come first, and are answered with 200
  bool may_be_alert = false;  // TLS says in its own way that it did not understand
};

/// What a request needs to come as far as a parser.
struct Target {
  std::string host;
  std::uint16_t port = 0;
  std::string key;
  std::string probe;  // the path of something that is there
  bool is_tls = false;
};

using Dice = std::mt19937_64;

/// One that is as it should be, and ends its connection.
BadRequest good_request(const Target& target);
/// One of any kind but the slow ones.
BadRequest bad_request(Dice& dice, const Target& target);
/// One that takes its time: a head that drips, one that stops, a body that stops.
BadRequest slow_request(Dice& dice, const Target& target);

}  // namespace hostile
