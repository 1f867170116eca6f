// One request out of bytes as they come. Beast does the reading; what a server must refuse beyond that (framings that
// two readers could understand differently, hosts that are missing) is refused here.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "ports/http.h"

namespace drover {

class RequestParser {
 public:
  explicit RequestParser(std::size_t most_header_bytes);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  enum class Event : std::uint8_t {
    more,    // what was not used must be given again, with more behind it
    head,    // the head is there; ask again for the body
    whole,   // the request is there; what was not used belongs to the next one
    broken,  // refusal() says why
  };
  struct Step {
    Event event = Event::more;
    std::size_t used = 0;
  };
  Step feed(std::string_view bytes);

  HttpHead& head();
  /// Bytes of the body that came and nobody took yet.
  std::string& body();
  /// Not all of the body has come.
  bool awaits_body() const;
  /// The length it says it has; 0 if it says none, as a chunked one.
  std::uint64_t stated_length() const;
  /// A longer body is refused with 413.
  void limit_body(std::uint64_t most_bytes);
  bool wants_continue() const;
  bool is_http_1_0() const;
  /// The peer would like to use the connection again.
  bool keep_alive() const;
  /// The status to refuse it with.
  int refusal() const;

 private:
  class Reader;
  std::unique_ptr<Reader> reader_;
};

}  // namespace drover
