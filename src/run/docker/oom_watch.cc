#include "run/docker/oom_watch.h"

#include <boost/json/parse.hpp>
#include <chrono>

#include "base/text.h"
#include "base/url.h"
#include "host/owner.h"

namespace drover {
namespace json = boost::json;
namespace {

constexpr std::chrono::seconds kAgain{1};

}  // namespace

void OomWatch::begin() {
  daemon_.loop().post([self = shared_from_this()] { self->listen(); });
}

void OomWatch::listen() {
  line_.clear();
  const std::string filter = concat(R"({"event":["oom"],"label":["drover.owner=)", this_process().name(), R"("]})");
  DaemonStream stream;
  stream.take = [self = shared_from_this()](std::string_view bytes) {
    self->read(bytes);
    return true;
  };
  daemon_.loop().send(
      daemon_.request("GET", concat("/events?filters=", percent_encoded(filter))),
      [self = shared_from_this()](const HttpAnswer&) {
        // The daemon is gone, or starts again.
        self->daemon_.loop().after(kAgain, [self] { self->listen(); });
      },
      std::move(stream));
}

void OomWatch::read(std::string_view bytes) {
  line_ += bytes;
  std::size_t end = 0;
  while ((end = line_.find('\n')) != std::string::npos) {
    boost::system::error_code bad;
    const json::value event = json::parse(line_.substr(0, end), bad);
    line_.erase(0, end + 1);
    if (!bad) seen_.insert(text_at(event, {"Actor", "ID"}));
  }
}

}  // namespace drover
