// Server-sent events, taken apart as they come (https://html.spec.whatwg.org/multipage/server-sent-events.html).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace drover {

struct SentEvent {
  std::string id;    // the last that was said, with this event or before it
  std::string kind;  // empty: nobody said
  std::string data;
};

class EventLines {
 public:
  using Take = std::function<Result<void>(const SentEvent&)>;
  explicit EventLines(Take take) : take_(std::move(take)) {}

  /// A piece of any length. What `take` fails with is the answer.
  Result<void> add(std::string_view piece);

 private:
  Result<void> line(std::string_view text);

  Take take_;
  std::string rest_;
  SentEvent event_;
  bool has_data_ = false;
};

}  // namespace drover
