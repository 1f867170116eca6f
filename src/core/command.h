// Everything that can be asked of the core, and everything it answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/lease.h"
#include "base/result.h"
#include "base/uuid.h"
#include "core/event.h"
#include "core/fleets/fleet_calls.h"
#include "core/jobs/item_blocks.h"
#include "core/queue.h"
#include "core/records.h"
#include "core/registry.h"
#include "core/streams/stream_calls.h"
#include "core/why_facts.h"

namespace drover {

/// A new job. Its manifest and definition are in the store already.
struct SubmitJob : JobSpec {
  std::uint64_t total = 0;
  Uuid uuid = {};
  DefinitionId definition = {};
  ManifestId manifest = {};
};

/// A settled item that is to be run again, as the ledger shows it.
struct SettledItem {
  ItemIndex item;
  AttemptNumber attempt;  // the one that settled it
  AttemptState state = AttemptState::failed;
};

/// Lets a job that was stopped go on, and reopens settled items. What was read of settled items must have been read at
/// this epoch, else the answer is a conflict. When there are more items than one command may carry (kReopenPage),
/// `rest` says which, and the core asks for them page by page (ReopenWanted).
struct ReopenJob {
  JobId job;
  std::uint64_t epoch = 0;
  std::optional<Policy> policy;
  std::vector<SettledItem> again;
  std::optional<Resources> ask = {};              // from now on; what runs goes on with what it has
  std::shared_ptr<const ReopenChoice> rest = {};  // there are more, from item `next` on; null: these are all
  ItemIndex next = {};
};

/// The next page of a retry, as ReopenWanted asked for it. One that the job no longer waits for changes nothing.
struct ReopenMore {
  JobId job;
  std::uint64_t epoch = 0;  // as in ReopenWanted
  ItemIndex from;           // likewise
  std::vector<SettledItem> again;
  ItemIndex next;  // where the page after this one begins; the number of items: this was the last
};

/// The marks of an ended job's items, as MarksWanted asked for them. The core takes them out of it.
struct MarksRead {
  JobId job;
  std::shared_ptr<ItemBlocks> marks;  // null: they could not be read
  Error error = {};                   // why not
};

struct CancelJob {
  JobId job;
  std::string reason;
  bool spares_running = false;  // what runs may finish, and is not tried again
};

/// A job that had ended by this time is let go, with all that is known of it.
struct ForgetJob {
  JobId job;
  std::int64_t ended_by_ms = 0;
};

/// A worker says who it is and what it has. Another incarnation of the same name loses what the former held; what one
/// has may become less while it lives, never more.
struct RegisterWorker {
  std::string name;
  std::uint64_t incarnation = 0;
  std::int64_t term_ms = 0;
  Resources has = Resources::endless();
  Labels labels = {};
  std::string fleet = {};  // empty: none
};

/// A worker shall take no more, and go when what it runs has ended. It is told with its next answer. One that begins
/// anew before it has done so is told again, unless it had been lost meanwhile. Forgotten when the server ends.
struct AskToDrain {
  std::string worker;
};

/// A worker is believed dead or mad: others get what it held, at once. Should it live, it has to register again, and is
/// told that its items are gone.
struct Fence {
  std::string worker;
};

/// Somebody follows what this item prints: whoever runs it is told so, once, with its next answer, at once if a poll of
/// it waits. One that goes on following says so again and again. Forgotten when the server ends.
struct Watch {
  JobId job;
  ItemIndex item;
};

/// What a worker tells: what ended, what runs, what it hands back unstarted. Answered as soon as it is durable.
struct Report {
  WorkerId worker;
  std::uint64_t incarnation = 0;
  std::vector<EndedAttempt> ended;
  std::vector<RunningAttempt> running;
  std::vector<Token> returned;
  std::vector<JobNote> notes = {};
  Leaving leaving = Leaving::no;  // `gone` is heard of a report alone: who polls is there
};

/// A report, and a request for at most `want` items, and as many as `room` holds. An item of a job that the worker has
/// nothing of may be larger than that: it waits there for its room, since among small ones it would never find it.
/// Answered when there is something to say, at the latest after
/// `wait_ms`; a later poll of the same worker answers the one before it.
struct Poll {
  Report report;
  PollNumber number;
  std::vector<PollNumber> given_up;  // whose answers never came: what they granted goes back
  std::uint64_t want = 0;
  std::int64_t wait_ms = 0;
  Resources room = Resources::endless();
  std::vector<JobId> not_now = {};  // the worker can start nothing of these yet, and has enough of them
};

/// A queue as it shall be from now on: a new one, or one that is there.
struct SetQueue {
  Queue queue;
};
/// Only one that no unended job waits in.
struct DropQueue {
  std::string queue;
};

/// Another revision of the definition of this name. Its text is in the store already.
struct AddRevision {
  std::string name;
  DefinitionId definition;
  std::string owner;
};
/// No new jobs shall be made from it.
struct RetireRevision {
  std::string name;
  std::uint64_t revision = 0;
};

/// Several at once, or none of them.
struct SetDocuments {
  struct Change {
    std::string kind;
    std::string name;
    std::optional<std::string> text;       // nothing: it is deleted
    std::optional<std::uint64_t> version;  // that it must have now; 0: there must be none. Nothing: whatever is there
  };
  std::vector<Change> changes;
};

/// A worker that was given nothing because its items failed is given some again.
struct Readmit {
  std::string worker;
};

/// Why does it not run? Without an item: why does nothing more of the job.
struct AskWhy {
  JobId job;
  std::optional<ItemIndex> item;
};

/// Time has passed: next_deadline() was reached.
struct Tick {};

/// The core could not step for this long, because the store was blocked or the process was stopped. Workers may have
/// polled without being heard, so this time does not count against their leases.
struct Stalled {
  std::int64_t ms = 0;
};

using Command = std::variant<SubmitJob, ReopenJob, ReopenMore, MarksRead, CancelJob, ForgetJob, RegisterWorker,
                             AskToDrain, Fence, Watch, Report, Poll, SetQueue, DropQueue, AddRevision, RetireRevision,
                             SetFleet, DropFleet, PauseFleet, ScaleFleet, MachineNews, FleetEmptied, AskFleets,
                             SetDocuments, Readmit, SetStream, DropStream, PurgeStream, SendMessages, ReceiveMessages,
                             StopReceiving, DeleteMessages, SetVisibility, AskStreams, AskWhy, Tick, Stalled>;

/// A command, and who waits for its answer.
struct Request {
  Ticket ticket;
  Command command;
};

struct JobAccepted {
  JobId job;
};
struct JobReopened {
  std::uint64_t items = 0;  // how many will run
};
struct MarksTaken {};
struct JobCancelled {
  bool was_over = false;  // it had ended before
};
struct JobForgotten {
  std::string name = {};
};
struct WorkerRegistered {
  WorkerId worker;
};
/// As it says itself, or was asked.
enum class Standing : std::uint8_t { alive, draining, left };
/// It was asked to drain, or fenced.
struct WorkerToBeGone {
  WorkerId worker;
  std::uint64_t grants = 0;  // how many it had in its hands
};
/// Who runs the item that is to be watched, as far as anybody has said.
struct Watched {
  struct Running {
    WorkerId worker;
    Token token;
    AttemptNumber attempt;
  };
  std::optional<Running> running;
};
/// To nobody in particular: what has become of a worker that was not lost or fenced.
struct WorkerStands {
  WorkerId worker;
  Standing standing = Standing::alive;
};
struct ReportTaken {};
struct PollAnswer {
  PollNumber number;
  std::vector<Lease> leases;
  std::vector<StopOrder> stops;
  std::vector<Token> gone;     // the worker named them as running, and somebody else has them by now
  std::vector<Token> watched;  // somebody follows what these print
  bool drain = false;          // take no more, and go when what runs has ended
};
struct QueueSet {};
struct QueueDropped {};
struct RevisionAdded {
  std::uint64_t revision = 0;
};
struct RevisionRetired {};
struct DocumentsSet {};
struct WorkerReadmitted {};
struct Refused {
  Error error;
};
/// To nobody in particular: a job's record has changed, or how many of its items run; perhaps it has ended.
struct JobChanged {
  Job job;
  ItemCounts counts;
  std::uint64_t in_hands = 0;  // items that workers have, named as running or not
};
/// To nobody in particular: a retry goes on with the items of this choice from `from` on that were settled before this
/// epoch. Whoever drives the core reads a page of them from the ledger and sends ReopenMore. Said again after a
/// restart.
struct ReopenWanted {
  JobId job;
  std::uint64_t epoch = 0;
  ItemIndex from;
  std::shared_ptr<const ReopenChoice> choice;
};
/// To nobody in particular: a command waits for the marks of an ended job's items, which only the ledger has. Whoever
/// drives the core reads them and sends MarksRead.
struct MarksWanted {
  JobId job;
  std::uint64_t total = 0;
};
/// To nobody in particular.
struct JobGone {
  JobId job;
};
/// To nobody in particular: a worker departed long ago, and is no longer known.
struct WorkerForgotten {
  WorkerId worker;
};
/// To nobody in particular: there are events up to this one.
struct Happened {
  EventId last;
};

using Effect =
    std::variant<JobAccepted, JobReopened, MarksTaken, JobCancelled, JobForgotten, WorkerRegistered, WorkerToBeGone,
                 WorkerStands, Watched, ReportTaken, PollAnswer, QueueSet, QueueDropped, RevisionAdded, RevisionRetired,
                 FleetSet, FleetDropped, FleetPaused, FleetScaled, MachineNoted, FleetNoted, FleetsChanged, FleetsNow,
                 DocumentsSet, WorkerReadmitted, StreamSet, StreamDropped, StreamPurged, MessagesSent, MessagesReceived,
                 MessagesDeleted, VisibilitySet, StreamsNow, WhyFacts, Refused, JobChanged, ReopenWanted, MarksWanted,
                 JobGone, WorkerForgotten, Happened>;

/// An effect and who waits for it; ticket 0 is everybody.
struct Answer {
  Ticket to;
  Effect effect;
};

}  // namespace drover
