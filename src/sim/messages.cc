#include "sim/messages.h"

namespace drover::sim {
namespace {

struct Encoder {
  const WorkerHello& who;

  RequestBytes operator()(const HelloCall& call) const {
    WorkerHello hello = who;
    hello.incarnation = call.incarnation;
    return {CallKind::hello, encode(hello)};
  }
  RequestBytes operator()(const ReportCall& call) const {
    WorkerReport report;
    report.report = {call.worker, call.incarnation, call.report.ended, call.report.running, call.report.returned};
    report.ended_frames.resize(call.report.ended.size());
    return {CallKind::report, encode(report)};
  }
  RequestBytes operator()(const PollCall& call) const {
    WorkerPoll poll;
    poll.poll.report = {call.worker, call.incarnation, call.poll.ended, call.poll.running, call.poll.returned};
    poll.poll.number = call.poll.number;
    poll.poll.given_up = call.poll.given_up;
    poll.poll.want = call.poll.want;
    poll.poll.wait_ms = call.wait_ms;
    poll.poll.room = call.poll.room;
    poll.poll.not_now = call.poll.not_now;
    poll.ended_frames.resize(call.poll.ended.size());
    return {CallKind::poll, encode(poll)};
  }
};

}  // namespace

RequestBytes encode_call(const SessionCall& call, const WorkerHello& who) {
  return std::visit(Encoder{who}, call.what);
}

Result<Command> decode_call(const RequestBytes& request) {
  switch (request.kind) {
    case CallKind::hello: {
      auto hello = decode_hello(request.body);
      if (!hello) return pass(hello);
      return RegisterWorker{.name = hello->name,
                            .incarnation = hello->incarnation,
                            .term_ms = kTermMs,
                            .has = hello->has,
                            .labels = hello->labels};
    }
    case CallKind::report: {
      auto report = decode_report(request.body);
      if (!report) return pass(report);
      return std::move(report->report);
    }
    case CallKind::poll: {
      auto poll = decode_poll(request.body);
      if (!poll) return pass(poll);
      return std::move(poll->poll);
    }
  }
  return fail(ErrorCode::bad_input, "no such call");
}

ReplyBytes encode_effect(const Effect& effect, bool drain) {
  if (const auto* it = std::get_if<WorkerRegistered>(&effect)) {
    WorkerWelcome welcome;
    welcome.worker = it->worker;
    welcome.term_ms = kTermMs;
    welcome.poll_wait_ms = kPollWaitMs;
    return {ReplyStatus::ok, encode(welcome)};
  }
  if (const auto* it = std::get_if<PollAnswer>(&effect)) {
    WorkerPollAnswer answer;
    answer.answer = *it;
    answer.items.resize(it->leases.size());
    answer.answer.drain = it->drain || drain;
    return {ReplyStatus::ok, encode(answer)};
  }
  if (const auto* it = std::get_if<Refused>(&effect)) {
    if (it->error.code == ErrorCode::not_found) return {ReplyStatus::not_registered, {}};
    return {it->error.code == ErrorCode::in_use ? ReplyStatus::replaced : ReplyStatus::refused, {}};
  }
  return {};
}

Result<void> deliver(ServerSession& session, std::uint64_t call, CallKind kind, const ReplyBytes& reply,
                     std::int64_t now_ms) {
  if (reply.status == ReplyStatus::not_registered) {
    session.on_not_registered(call, now_ms);
  } else if (reply.status == ReplyStatus::replaced) {
    session.on_replaced(call, now_ms);
  } else if (reply.status == ReplyStatus::refused) {
    session.on_failed(call, now_ms);
  } else if (kind == CallKind::hello) {
    auto welcome = decode_welcome(reply.body);
    if (!welcome) return pass(welcome);
    session.on_welcome(call, welcome->worker, welcome->term_ms, welcome->poll_wait_ms, now_ms);
  } else if (kind == CallKind::report) {
    session.on_report_taken(call, now_ms);
  } else {
    auto answer = decode_poll_answer(reply.body);
    if (!answer) return pass(answer);
    session.on_poll_answer(call, answer->answer.leases, answer->answer.stops, answer->answer.gone, answer->answer.drain,
                           now_ms);
  }
  return {};
}

}  // namespace drover::sim
