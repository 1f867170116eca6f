#include "sim/happenings/streams.h"

#include "base/text.h"
#include "sim/stage.h"
#include "sim/stream_clients.h"

namespace drover::sim {

std::string ChangeStream::describe() const {
  std::string out = concat("stream ", spec.name, ": visibility ", spec.visibility_ms, " ms, delay ", spec.delay_ms,
                           " ms, retention ", spec.retention_ms, " ms");
  if (spec.max_receives > 0) out += concat(", after ", spec.max_receives, " receives to ", spec.dead_letters);
  return out;
}
void ChangeStream::happen(Stage& stage) const {
  stage.part<StreamClients>().change(spec);
}

std::string EmptyStream::describe() const {
  return concat("stream ", stream, " is purged");
}
void EmptyStream::happen(Stage& stage) const {
  stage.part<StreamClients>().purge(stream);
}

std::string RemoveStream::describe() const {
  return concat("stream ", stream, " is deleted");
}
void RemoveStream::happen(Stage& stage) const {
  stage.part<StreamClients>().remove(stream);
}

std::string SendToStream::describe() const {
  return concat("send ", messages, " messages to ", stream, ", up to ", at_once, " at a time, in ", groups, " groups, ",
                delay_ms ? concat("delayed for ", *delay_ms, " ms, ") : std::string(), "pauses up to ", pause_ms, " ms",
                doubts ? ", each twice" : "");
}
void SendToStream::happen(Stage& stage) const {
  stage.part<StreamClients>().send(*this);
}

std::vector<Happening> SendToStream::smaller() const {
  return halved(*this, &SendToStream::messages);
}

std::string ReceiveFromStream::describe() const {
  return concat(receivers, are_attempts ? " attempts" : " programs", fleet.empty() ? "" : concat(" of fleet ", fleet),
                " receive from ", stream, " for ", for_ms, " ms: up to ", at_once, " at a time, ",
                visibility_ms ? concat("hidden for ", *visibility_ms, " ms, ") : std::string(), "waits ", wait_ms,
                " ms, works up to ", work_ms, " ms, ", fail_percent, " % fail");
}
void ReceiveFromStream::happen(Stage& stage) const {
  stage.part<StreamClients>().receive(*this);
}

std::vector<Happening> ReceiveFromStream::smaller() const {
  return halved(*this, &ReceiveFromStream::receivers);
}

std::vector<Happening> ReceiveFromStream::plainer() const {
  std::vector<Happening> out;
  const auto without = [&](auto ReceiveFromStream::* trait) {
    ReceiveFromStream plain = *this;
    plain.*trait = ReceiveFromStream().*trait;
    if (plain.*trait != this->*trait) out.emplace_back(plain);
  };
  without(&ReceiveFromStream::are_attempts);
  without(&ReceiveFromStream::fleet);
  without(&ReceiveFromStream::fail_percent);
  without(&ReceiveFromStream::work_ms);
  without(&ReceiveFromStream::visibility_ms);
  return out;
}

}  // namespace drover::sim
