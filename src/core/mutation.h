// What a batch changes in the store. The core says it in these words, a store makes it durable, and at start the
// store says the puts again.
#pragma once

#include <memory>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/text.h"
#include "core/event.h"
#include "core/fleets/fleet_records.h"
#include "core/queue.h"
#include "core/records.h"
#include "core/registry.h"
#include "core/streams/stream_records.h"

namespace drover {

struct PutCounters {
  Counters counters;
};
struct PutJob {
  Job job;
};
struct PutBlock {
  BlockRecord block;
};
struct PutOpenItem {
  OpenItem item;
};
struct DeleteOpenItem {
  JobId job;
  ItemIndex item;
};
struct PutGrant {
  Grant grant;
};
struct DeleteGrant {
  GrantId grant;
};
struct PutWorker {
  Worker worker;
};
struct AddAttempt {
  Attempt attempt;
};
/// The item is taken up again: the attempt that had settled it no longer does.
struct UnsettleAttempt {
  JobId job;
  ItemIndex item;
  AttemptNumber attempt;
};

/// The job and everything about it: blocks, open items, attempts, its manifest and its definition. Comes after all else
/// that a batch says of the job.
struct DeleteJob {
  JobId job;
};

struct PutQueue {
  Queue queue;
};
struct DeleteQueue {
  std::string queue;
};
struct PutShare {
  ShareRecord share;
};
struct DeleteShare {
  std::string queue;
  std::string share;
};
struct PutDefinition {
  NamedDefinition definition;
};
struct PutFleet {
  Fleet fleet;
};
struct DeleteFleet {
  std::string fleet;
};
struct PutMachine {
  Machine machine;
};
struct DeleteMachine {
  std::string machine;
};
struct PutDocument {
  Document document;
};
struct DeleteDocument {
  std::string kind;
  std::string name;
};
struct PutAccount {
  Account account;
};
struct AddEvent {
  Event event;
};
/// The worker is no longer loaded; only its name remains, for as long as attempts refer to it.
struct ForgetWorker {
  FormerWorker worker;
};

struct PutStream {
  Stream stream;
};
/// The stream and its messages.
struct DeleteStream {
  StreamId stream;
};
struct PutMessageBlock {
  MessageBlock block;
};
/// None of its messages is left.
struct DeleteMessageBlock {
  MessageNumber first;
};
struct PutOpenMessage {
  OpenMessage message;
};
struct DeleteOpenMessage {
  MessageNumber message;
};
struct PutSentBefore {
  SentBefore sent;
};
struct DeleteSentBefore {
  StreamId stream;
  std::string key;
};
/// What a message says. It stays until its block goes.
struct AddMessage {
  MessageNumber message;
  std::shared_ptr<const std::string> content;
};
/// A message has another number now, in the stream for dead letters.
struct MoveMessage {
  MessageNumber from;
  DeadLetter to;
};

using Mutation =
    std::variant<PutCounters, PutJob, PutBlock, PutOpenItem, DeleteOpenItem, PutGrant, DeleteGrant, PutWorker,
                 AddAttempt, UnsettleAttempt, DeleteJob, PutQueue, DeleteQueue, PutShare, DeleteShare, PutDefinition,
                 PutFleet, DeleteFleet, PutMachine, DeleteMachine, PutDocument, DeleteDocument, PutAccount, AddEvent,
                 ForgetWorker, PutStream, DeleteStream, PutMessageBlock, DeleteMessageBlock, PutOpenMessage,
                 DeleteOpenMessage, PutSentBefore, DeleteSentBefore, AddMessage, MoveMessage>;

/// What is said when the puts that a store has kept make no sense.
inline std::unexpected<Error> contradicts_itself(std::string_view what) {
  return fail(ErrorCode::damaged, concat("the stored state contradicts itself: ", what));
}

}  // namespace drover
