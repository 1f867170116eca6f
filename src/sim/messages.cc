#include "sim/messages.h"

#include "wire/problem_json.h"
#include "wire/session_calls.h"

namespace drover::sim {
namespace {

// What the body says counts; the status is the one of refusals.
constexpr int kRefused = 409;

struct Encoder {
  const WorkerHello& who;

  RequestBytes operator()(const HelloCall& call) const {
    WorkerHello hello = who;
    hello.incarnation = call.incarnation;
    return {CallKind::hello, encode(hello)};
  }
  RequestBytes operator()(const ReportCall& call) const {
    WorkerReport report{
        .report = to_report(call.report, call.worker, call.incarnation), .frames = {}, .ended_frames = {}};
    report.ended_frames.resize(report.report.ended.size());
    return {CallKind::report, encode(report)};
  }
  RequestBytes operator()(const PollCall& call) const {
    WorkerPoll poll{.poll = to_poll(call), .frames = {}, .ended_frames = {}};
    poll.poll.report = to_report(call.poll, call.worker, call.incarnation);
    poll.ended_frames.resize(call.poll.ended.size());
    return {CallKind::poll, encode(poll)};
  }
};

}  // namespace

RequestBytes encode_call(const SessionCall& call, const WorkerHello& who) {
  return std::visit(Encoder{who}, call.what);
}

Result<Command> decode_call(const RequestBytes& request, const std::string& fleet) {
  switch (request.kind) {
    case CallKind::hello: {
      auto hello = decode_hello(request.body);
      if (!hello) return pass(hello);
      return to_command(*hello, kTermMs, fleet);
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

ReplyBytes encode_effect(const Effect& effect) {
  if (const auto* it = std::get_if<WorkerRegistered>(&effect)) {
    return {.body = encode(WorkerWelcome{.worker = it->worker, .term_ms = kTermMs, .poll_wait_ms = kPollWaitMs})};
  }
  if (const auto* it = std::get_if<PollAnswer>(&effect)) {
    WorkerPollAnswer answer{.answer = *it, .items = {}};
    answer.items.resize(it->leases.size());
    return {.body = encode(answer)};
  }
  if (const auto* it = std::get_if<Refused>(&effect)) return {kRefused, problem_to_json(kRefused, it->error)};
  return {};
}

Result<WorkerPollAnswer> decode_answer(CallKind kind, const ReplyBytes& reply) {
  if (kind != CallKind::poll || reply.status != 200) return fail(ErrorCode::bad_input, "not a poll's answer");
  return decode_poll_answer(reply.body);
}

Result<void> deliver(ServerSession& session, std::uint64_t call, CallKind kind, const ReplyBytes& reply,
                     std::int64_t now_ms) {
  if (reply.status != 200) {
    session.on_error(call, error_from_problem(reply.status, reply.body), now_ms);
  } else if (kind == CallKind::hello) {
    auto welcome = decode_welcome(reply.body);
    if (!welcome) return pass(welcome);
    session.on_welcome(call, welcome->worker, welcome->term_ms, welcome->poll_wait_ms, now_ms);
  } else if (kind == CallKind::report) {
    session.on_report_taken(call, now_ms);
  } else {
    auto answer = decode_answer(kind, reply);
    if (!answer) return pass(answer);
    session.on_poll_answer(call, answer->answer.leases, answer->answer.stops, answer->answer.gone, answer->answer.drain,
                           now_ms);
  }
  return {};
}

}  // namespace drover::sim
