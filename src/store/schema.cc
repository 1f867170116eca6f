#include "store/schema.h"

#include "base/text.h"

namespace drover {
namespace {

constexpr const char* kTables = R"sql(
CREATE TABLE schema_version(version INTEGER NOT NULL);

CREATE TABLE counters(now_ms INTEGER, next_job INTEGER, next_grant INTEGER, next_worker INTEGER, next_event INTEGER,
  next_stream INTEGER, next_message_block INTEGER);

-- milli_cpus to neuron: what each item asks for; require: labels that its worker must have, as JSON.
-- spot: prefer, only or never.
-- after: jobs it comes after, by their numbers, as JSON. used_cpu_ms and what follows: what its attempts have used.
-- reopening: which items a retry under way takes up again, as JSON, from item reopen_next on; NULL: there is none.
-- stream: whose messages are its items; NULL: it has a list of items. until_empty: it ends when the stream is empty.
CREATE TABLE jobs(
  job INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, state TEXT, stop TEXT, reason TEXT,
  definition INTEGER, manifest INTEGER, total INTEGER, succeeded INTEGER, failed INTEGER, cancelled INTEGER,
  failed_before INTEGER, epoch INTEGER, created_ms INTEGER, ended_ms INTEGER,
  max_tries INTEGER, rules TEXT, lost_limit INTEGER, retry_delay_ms INTEGER, timeout_ms INTEGER, grace_ms INTEGER,
  max_failures INTEGER, milli_cpus INTEGER, memory_bytes INTEGER, nvidia INTEGER, amd INTEGER, neuron INTEGER,
  require TEXT, spot TEXT, on_demand_after_losses INTEGER, on_demand_after_ms INTEGER,
  queue TEXT, share TEXT, priority INTEGER, owner TEXT, after TEXT, sequential INTEGER,
  max_running INTEGER, job_timeout_ms INTEGER, started_ms INTEGER, named_definition TEXT, stream TEXT, until_empty INTEGER,
  reopening TEXT, reopen_next INTEGER, reopen_epoch INTEGER,
  used_cpu_ms INTEGER, reserved_cpu_ms INTEGER, used_memory_mib_s INTEGER,
  accelerator_ms INTEGER, gpu_busy_ms INTEGER, gpu_energy_j INTEGER, wasted_cpu_ms INTEGER, wasted_reserved_ms INTEGER,
  attempts INTEGER, failed_attempts INTEGER, lost_attempts INTEGER,
  cost_microdollars INTEGER, on_demand_microdollars INTEGER, wasted_microdollars INTEGER);

-- Those that have ended, by when: old ones are deleted.
CREATE INDEX jobs_by_end ON jobs(ended_ms, job) WHERE ended_ms > 0;
CREATE INDEX jobs_on_streams ON jobs(job) WHERE stream IS NOT NULL;

-- 4,096 items each, two bits an item: 0 pending, 1 open, 2 succeeded, 3 ended otherwise. One byte: all alike.
CREATE TABLE blocks(job INTEGER, block INTEGER, marks BLOB, PRIMARY KEY(job, block)) WITHOUT ROWID;

-- Open items with a history; grant_id 0 waits.
CREATE TABLE open_items(
  job INTEGER, item INTEGER, grant_id INTEGER, attempts INTEGER, tries INTEGER, losses INTEGER, counted INTEGER,
  started_ms INTEGER, not_before_ms INTEGER, PRIMARY KEY(job, item)) WITHOUT ROWID;

CREATE TABLE grants(
  grant_id INTEGER PRIMARY KEY, job INTEGER, worker INTEGER, poll INTEGER, first INTEGER, count INTEGER);

-- What its items may use in all: milli_cpus and memory_bytes; the largest number: no end of it.
-- state: alive, lost, left or fenced; gone_ms: since when it is not alive.
CREATE TABLE workers(
  worker INTEGER PRIMARY KEY, name TEXT, incarnation INTEGER, term_ms INTEGER, registered_ms INTEGER, milli_cpus INTEGER,
  memory_bytes INTEGER, nvidia INTEGER, amd INTEGER, neuron INTEGER, labels TEXT, quarantine TEXT, fleet TEXT,
  state TEXT, gone_ms INTEGER);
-- Workers that departed more than a day ago and that attempts may refer to.
CREATE TABLE former_workers(worker INTEGER PRIMARY KEY, name TEXT, forgotten_ms INTEGER);
CREATE INDEX former_workers_by_time ON former_workers(forgotten_ms);

-- The queue 'default' is always there, and in this table when it was changed. share_order: first_come or fair.
CREATE TABLE queues(
  name TEXT PRIMARY KEY, priority INTEGER, enabled INTEGER, closed INTEGER, share_order TEXT, decay_s INTEGER,
  reserved_percent INTEGER, weights TEXT, fleets TEXT, created_ms INTEGER, usage_from_ms INTEGER) WITHOUT ROWID;
-- What a share of a fair queue has used: milli-CPUs x milliseconds x weight, as two halves of one number.
CREATE TABLE shares(
  queue TEXT NOT NULL, share TEXT, used_high INTEGER, used_low INTEGER, since_ms INTEGER);
CREATE UNIQUE INDEX shares_by_name ON shares(queue, coalesce(share, ''));
-- Revisions of named definitions; the text is in definitions.
CREATE TABLE named_definitions(
  name TEXT, revision INTEGER, definition INTEGER, active INTEGER, created_ms INTEGER, owner TEXT,
  PRIMARY KEY(name, revision)) WITHOUT ROWID;
-- text: how a fleet scales, as JSON. provider: who has its machines, and has_launched: whether it was ever called for one.
-- failures: launches that failed since a machine joined, the last one because of trouble; nothing is launched before
-- not_before_ms. ends_early: since then a machine has joined and ended soon. spot_failures and what follows: the same of
-- spot machines, which fail since spot_failing_since_ms. billed_microdollars and what follows: what its machines that are
-- gone have cost, what that would have been on demand, and what of it attempts cost. scaled_to: how many machines the
-- last change of a step was for; -1: none was made.
CREATE TABLE fleets(
  name TEXT PRIMARY KEY, text TEXT, provider TEXT, most INTEGER, most_milli_cpus INTEGER, join_ms INTEGER,
  created_ms INTEGER, paused INTEGER, deleting INTEGER, has_launched INTEGER, failures INTEGER, trouble TEXT,
  not_before_ms INTEGER, ends_early INTEGER, spot_failures INTEGER, spot_trouble TEXT, spot_not_before_ms INTEGER,
  spot_ends_early INTEGER, spot_failing_since_ms INTEGER, scaled_to INTEGER,
  billed_microdollars INTEGER, billed_on_demand_microdollars INTEGER, attempts_microdollars INTEGER) WITHOUT ROWID;
-- A machine's name is its worker's name. state: requested, starting, joined, draining, leaving or gone, since since_ms.
-- hourly_microdollars: its price; attempts_microdollars: what attempts on it that have ended cost, and attempts_rest what
-- that is beyond whole micro-dollars.
CREATE TABLE machines(
  name TEXT PRIMARY KEY, fleet TEXT, shape TEXT, milli_cpus INTEGER, memory_bytes INTEGER, nvidia INTEGER, amd INTEGER,
  neuron INTEGER, spot INTEGER, state TEXT, provider_id TEXT, reason TEXT, ending TEXT, requested_ms INTEGER,
  join_by_ms INTEGER, joined_ms INTEGER, since_ms INTEGER, is_of_use INTEGER, hourly_microdollars INTEGER,
  hourly_on_demand_microdollars INTEGER, billed_from_ms INTEGER, attempts_microdollars INTEGER, attempts_rest INTEGER,
  attempts_on_demand_microdollars INTEGER,
  attempts_on_demand_rest INTEGER) WITHOUT ROWID;
-- What APIs keep under names of their own, such as roles and tags.
CREATE TABLE documents(
  kind TEXT, name TEXT, text TEXT, version INTEGER, created_ms INTEGER, PRIMARY KEY(kind, name)) WITHOUT ROWID;
-- What owners' jobs have used that are no longer in jobs.
CREATE TABLE accounts(
  owner TEXT, jobs INTEGER, used_cpu_ms INTEGER, reserved_cpu_ms INTEGER, used_memory_mib_s INTEGER,
  accelerator_ms INTEGER, gpu_busy_ms INTEGER, gpu_energy_j INTEGER, wasted_cpu_ms INTEGER, wasted_reserved_ms INTEGER,
  attempts INTEGER, failed_attempts INTEGER, lost_attempts INTEGER,
  cost_microdollars INTEGER, on_demand_microdollars INTEGER, wasted_microdollars INTEGER);
CREATE UNIQUE INDEX accounts_by_owner ON accounts(coalesce(owner, ''));
-- What happened, in order; the newest hundred thousand.
CREATE TABLE events(event INTEGER PRIMARY KEY, at_ms INTEGER, kind TEXT, job TEXT, name TEXT, detail TEXT);

-- One row per ended attempt. state: 1 succeeded, 2 failed, 3 cancelled, 4 lost.
-- ending: 0 exited, 1 signalled, 2 timed out, 3 not started, 4 stopped, 5 lost, 6 out of memory.
-- log: where in logs/ its output is; NULL: it printed nothing. epoch: how often its job had been reopened.
-- cost_microdollars: its part of the machine's price; NULL: that was not known.
CREATE TABLE attempt_rows(
  job INTEGER, item INTEGER, attempt INTEGER, state INTEGER, ending INTEGER, exit_code INTEGER, signal INTEGER,
  reason TEXT, worker INTEGER, started_ms INTEGER, ended_ms INTEGER, wall_us INTEGER, user_us INTEGER, system_us INTEGER,
  peak_memory_kib INTEGER, read_bytes INTEGER, written_bytes INTEGER, gpu_busy_us INTEGER, peak_gpu_memory_kib INTEGER,
  gpu_energy_mj INTEGER, slot INTEGER, log_bytes INTEGER, last_line TEXT, log BLOB, epoch INTEGER, settled INTEGER,
  cost_microdollars INTEGER, on_demand_microdollars INTEGER, PRIMARY KEY(job, item, attempt)) WITHOUT ROWID;

-- What the attempts that settled a block's items do not exceed.
CREATE TABLE peaks(
  job INTEGER, block INTEGER, wall_us INTEGER, peak_memory_kib INTEGER, gpu_busy_us INTEGER,
  PRIMARY KEY(job, block)) WITHOUT ROWID;

-- Jobs that are no more, and of which rows may be left in the tables that name a job; and lists, with chunks.
CREATE TABLE deleted_jobs(job INTEGER PRIMARY KEY);
CREATE TABLE deleted_manifests(manifest INTEGER PRIMARY KEY);

-- Queues of messages. text: what APIs keep with a stream, as JSON. Messages below purged_before are gone. Of the outbox
-- `feed`, messages up to fed_to have come.
CREATE TABLE streams(
  stream INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, fifo INTEGER, visibility_ms INTEGER, delay_ms INTEGER,
  retention_ms INTEGER, receive_wait_ms INTEGER, max_message_bytes INTEGER, max_receives INTEGER, dead_letters TEXT,
  deduplicates_content INTEGER, deduplicates_by_group INTEGER, text TEXT, owner TEXT, version INTEGER,
  created_ms INTEGER, changed_ms INTEGER, purged_ms INTEGER, purged_before INTEGER, feed INTEGER, fed_to INTEGER);
-- Neighbouring messages of a stream: 4,096 numbers each. Those from first + taken on were never received.
CREATE TABLE message_blocks(
  first INTEGER PRIMARY KEY, stream INTEGER, count INTEGER, taken INTEGER, first_sent_ms INTEGER, last_sent_ms INTEGER);
CREATE INDEX message_blocks_by_stream ON message_blocks(stream, first);
-- Messages that were received, are delayed, or belong to a group; hidden before visible_ms. job, job_item: whose item
-- it is; job 0: nobody's.
CREATE TABLE open_messages(
  message INTEGER PRIMARY KEY, stream INTEGER, message_group TEXT, receives INTEGER, visible_ms INTEGER,
  received_ms INTEGER, first_received_ms INTEGER, holder_grant INTEGER, holder_item INTEGER, job INTEGER,
  job_item INTEGER);
CREATE INDEX messages_of_items ON open_messages(job, job_item) WHERE job > 0;
-- What messages say, as a protocol buffer. Rows of deleted messages stay until their block is deleted.
CREATE TABLE message_contents(message INTEGER PRIMARY KEY, content BLOB);
-- Messages that FIFO streams have taken in the last five minutes.
CREATE TABLE sent_before(
  stream INTEGER, key TEXT, message INTEGER, id TEXT, sent_ms INTEGER, PRIMARY KEY(stream, key)) WITHOUT ROWID;
-- Messages that were received too often, by the number that they have now. The view dead_letters shows names.
CREATE TABLE dead_letter_rows(message INTEGER PRIMARY KEY, source INTEGER, receives INTEGER, moved_ms INTEGER);
-- Blocks, and streams up to a message, of which rows may be left in the tables above.
CREATE TABLE deleted_message_blocks(first INTEGER PRIMARY KEY);
CREATE TABLE deleted_streams(stream INTEGER PRIMARY KEY, before INTEGER);

CREATE TABLE definitions(definition INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL);

-- kind: 0 a list in chunks, 1 the numbers from first_number on. items is NULL while it is being written.
CREATE TABLE manifests(manifest INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER, items INTEGER, first_number INTEGER);
CREATE TABLE manifest_chunks(
  manifest INTEGER, first INTEGER, count INTEGER, data BLOB, PRIMARY KEY(manifest, first)) WITHOUT ROWID;
)sql";

constexpr const char* kViews = R"sql(
CREATE VIEW attempts AS
  SELECT j.id AS job, j.name AS job_name, a.item AS item, a.attempt AS attempt,
    CASE a.state WHEN 1 THEN 'succeeded' WHEN 2 THEN 'failed' WHEN 3 THEN 'cancelled' ELSE 'lost' END AS state,
    CASE a.ending WHEN 0 THEN 'exited' WHEN 1 THEN 'signalled' WHEN 2 THEN 'timed_out' WHEN 3 THEN 'not_started'
      WHEN 4 THEN 'stopped' WHEN 5 THEN 'lost' ELSE 'out_of_memory' END AS ending,
    a.exit_code AS exit_code, a.signal AS signal, a.reason AS reason, coalesce(w.name, f.name) AS worker,
    a.started_ms AS started_ms, a.ended_ms AS ended_ms, (a.user_us + a.system_us + 500) / 1000 AS cpu_ms,
    a.peak_memory_kib AS peak_memory_kib, a.wall_us AS wall_us, a.user_us AS user_us, a.system_us AS system_us,
    a.read_bytes AS read_bytes, a.written_bytes AS written_bytes, a.gpu_busy_us AS gpu_busy_us,
    a.peak_gpu_memory_kib AS peak_gpu_memory_kib, a.gpu_energy_mj AS gpu_energy_mj, a.slot AS slot, a.log_bytes AS log_bytes,
    a.last_line AS last_line, a.settled AS settled, a.cost_microdollars AS cost_microdollars,
    a.on_demand_microdollars AS on_demand_microdollars
  FROM attempt_rows a JOIN jobs j ON j.job = a.job LEFT JOIN workers w ON w.worker = a.worker
    LEFT JOIN former_workers f ON f.worker = a.worker;

-- What settled each item.
CREATE VIEW items AS
  SELECT job, job_name, item, attempt, state, ending, exit_code, signal, reason, worker, started_ms, ended_ms, cpu_ms,
    peak_memory_kib, wall_us, user_us, system_us, read_bytes, written_bytes, gpu_busy_us, peak_gpu_memory_kib,
    gpu_energy_mj, slot, log_bytes, last_line, cost_microdollars, on_demand_microdollars
  FROM attempts WHERE settled;

-- Messages that were received too often and still wait, in the stream that they went to.
CREATE VIEW dead_letters AS
  SELECT t.name AS stream, s.name AS source, d.message AS message, d.receives AS receives, d.moved_ms AS moved_ms
  FROM dead_letter_rows d JOIN message_blocks b ON b.first = d.message / 4096 * 4096
    JOIN streams t ON t.stream = b.stream LEFT JOIN streams s ON s.stream = d.source
  WHERE b.first >= t.purged_before
    AND (d.message >= b.first + b.taken OR d.message IN (SELECT message FROM open_messages));
)sql";

/// What brings a ledger from one version to the next. Each runs in the transaction that also writes the new version.
constexpr const char* kMigrations[] = {
    // 1 → 2: logs are segments in a folder; what an attempt read, wrote and said last is in its row. The ends of the
    // output, which version 1 kept in a table, go with it.
    R"sql(
DROP TABLE outputs;
ALTER TABLE attempt_rows ADD COLUMN read_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN written_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN slot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN log_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN last_line TEXT;
ALTER TABLE attempt_rows ADD COLUMN log BLOB;
)sql",
    // 2 → 3: ended jobs are deleted after a while; items ask, and workers have. Until a worker registers anew, it has
    // no end of everything.
    R"sql(
CREATE TABLE deleted_jobs(job INTEGER PRIMARY KEY);
CREATE TABLE deleted_manifests(manifest INTEGER PRIMARY KEY);
ALTER TABLE jobs ADD COLUMN milli_cpus INTEGER NOT NULL DEFAULT 1000;
ALTER TABLE jobs ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN require TEXT;
ALTER TABLE workers ADD COLUMN milli_cpus INTEGER NOT NULL DEFAULT 9223372036854775807;
ALTER TABLE workers ADD COLUMN memory_bytes INTEGER NOT NULL DEFAULT 9223372036854775807;
ALTER TABLE workers ADD COLUMN labels TEXT;
)sql",
    // 3 → 4: queues and shares, accelerators, dependencies, usage, named definitions, fleets, events. What an older
    // version counted of attempts is in attempt_rows.
    R"sql(
ALTER TABLE counters ADD COLUMN next_event INTEGER NOT NULL DEFAULT 1;
ALTER TABLE jobs ADD COLUMN nvidia INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN amd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN neuron INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN queue TEXT DEFAULT 'default';
ALTER TABLE jobs ADD COLUMN share TEXT;
ALTER TABLE jobs ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN owner TEXT;
ALTER TABLE jobs ADD COLUMN after TEXT;
ALTER TABLE jobs ADD COLUMN sequential INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN job_timeout_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN started_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN named_definition TEXT;
ALTER TABLE jobs ADD COLUMN used_cpu_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN reserved_cpu_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN used_memory_mib_s INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN accelerator_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN wasted_cpu_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN wasted_reserved_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN failed_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN lost_attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN nvidia INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN amd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN neuron INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN quarantine TEXT;
UPDATE jobs SET
  used_cpu_ms = coalesce((SELECT sum(user_us + system_us) / 1000 FROM attempt_rows a WHERE a.job = jobs.job), 0),
  reserved_cpu_ms = coalesce((SELECT sum(wall_us) / 1000 FROM attempt_rows a WHERE a.job = jobs.job), 0) * milli_cpus / 1000,
  attempts = (SELECT count(*) FROM attempt_rows a WHERE a.job = jobs.job),
  failed_attempts = (SELECT count(*) FROM attempt_rows a WHERE a.job = jobs.job AND a.state = 2),
  lost_attempts = (SELECT count(*) FROM attempt_rows a WHERE a.job = jobs.job AND a.state = 4);
CREATE TABLE queues(
  name TEXT PRIMARY KEY, priority INTEGER, enabled INTEGER, share_order TEXT, decay_s INTEGER, reserved_percent INTEGER,
  weights TEXT, fleets TEXT, created_ms INTEGER, usage_from_ms INTEGER) WITHOUT ROWID;
CREATE TABLE shares(
  queue TEXT NOT NULL, share TEXT, used_high INTEGER, used_low INTEGER, since_ms INTEGER);
CREATE UNIQUE INDEX shares_by_name ON shares(queue, coalesce(share, ''));
CREATE TABLE named_definitions(
  name TEXT, revision INTEGER, definition INTEGER, active INTEGER, created_ms INTEGER, owner TEXT,
  PRIMARY KEY(name, revision)) WITHOUT ROWID;
CREATE TABLE fleets(name TEXT PRIMARY KEY, text TEXT, created_ms INTEGER) WITHOUT ROWID;
CREATE TABLE accounts(
  owner TEXT, jobs INTEGER, used_cpu_ms INTEGER, reserved_cpu_ms INTEGER, used_memory_mib_s INTEGER,
  accelerator_ms INTEGER, wasted_cpu_ms INTEGER, wasted_reserved_ms INTEGER, attempts INTEGER, failed_attempts INTEGER,
  lost_attempts INTEGER);
CREATE UNIQUE INDEX accounts_by_owner ON accounts(coalesce(owner, ''));
CREATE TABLE events(event INTEGER PRIMARY KEY, at_ms INTEGER, kind TEXT, job TEXT, name TEXT, detail TEXT);
)sql",
    // 4 → 5: workers that departed are forgotten after a day, and only their names are kept. A retry of many items is
    // under way
    // for a while, and workers belong to fleets. An older version did not
    // record which workers were lost: they are lost once more, a term after the start.
    R"sql(
ALTER TABLE workers ADD COLUMN state TEXT NOT NULL DEFAULT 'alive';
ALTER TABLE workers ADD COLUMN gone_ms INTEGER NOT NULL DEFAULT 0;
UPDATE workers SET state = 'left', gone_ms = coalesce((SELECT now_ms FROM counters), 1) WHERE registered_ms = 0;
CREATE TABLE former_workers(worker INTEGER PRIMARY KEY, name TEXT, forgotten_ms INTEGER);
CREATE INDEX former_workers_by_time ON former_workers(forgotten_ms);
ALTER TABLE jobs ADD COLUMN reopening TEXT;
ALTER TABLE jobs ADD COLUMN reopen_next INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN reopen_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN fleet TEXT;
CREATE INDEX jobs_by_end ON jobs(ended_ms, job) WHERE ended_ms > 0;
ALTER TABLE queues ADD COLUMN closed INTEGER NOT NULL DEFAULT 0;
CREATE TABLE documents(
  kind TEXT, name TEXT, text TEXT, version INTEGER, created_ms INTEGER, PRIMARY KEY(kind, name)) WITHOUT ROWID;
CREATE TABLE peaks(
  job INTEGER, block INTEGER, wall_us INTEGER, peak_memory_kib INTEGER, gpu_busy_us INTEGER,
  PRIMARY KEY(job, block)) WITHOUT ROWID;
ALTER TABLE jobs ADD COLUMN gpu_busy_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN gpu_energy_j INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN gpu_busy_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN gpu_energy_j INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN gpu_busy_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN peak_gpu_memory_kib INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN gpu_energy_mj INTEGER NOT NULL DEFAULT 0;
INSERT INTO peaks SELECT job, item / 4096, max(wall_us), max(peak_memory_kib), 0 FROM attempt_rows WHERE settled GROUP BY 1, 2;
ALTER TABLE jobs ADD COLUMN stream TEXT;
ALTER TABLE jobs ADD COLUMN until_empty INTEGER NOT NULL DEFAULT 0;
CREATE INDEX jobs_on_streams ON jobs(job) WHERE stream IS NOT NULL;
ALTER TABLE counters ADD COLUMN next_stream INTEGER NOT NULL DEFAULT 1;
ALTER TABLE counters ADD COLUMN next_message_block INTEGER NOT NULL DEFAULT 1;
CREATE TABLE streams(
  stream INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, fifo INTEGER, visibility_ms INTEGER, delay_ms INTEGER,
  retention_ms INTEGER, receive_wait_ms INTEGER, max_message_bytes INTEGER, max_receives INTEGER, dead_letters TEXT,
  deduplicates_content INTEGER, deduplicates_by_group INTEGER, text TEXT, owner TEXT, version INTEGER,
  created_ms INTEGER, changed_ms INTEGER, purged_ms INTEGER, purged_before INTEGER, feed INTEGER, fed_to INTEGER);
CREATE TABLE message_blocks(
  first INTEGER PRIMARY KEY, stream INTEGER, count INTEGER, taken INTEGER, first_sent_ms INTEGER, last_sent_ms INTEGER);
CREATE INDEX message_blocks_by_stream ON message_blocks(stream, first);
CREATE TABLE open_messages(
  message INTEGER PRIMARY KEY, stream INTEGER, message_group TEXT, receives INTEGER, visible_ms INTEGER,
  received_ms INTEGER, first_received_ms INTEGER, holder_grant INTEGER, holder_item INTEGER, job INTEGER,
  job_item INTEGER);
CREATE INDEX messages_of_items ON open_messages(job, job_item) WHERE job > 0;
CREATE TABLE message_contents(message INTEGER PRIMARY KEY, content BLOB);
CREATE TABLE sent_before(
  stream INTEGER, key TEXT, message INTEGER, id TEXT, sent_ms INTEGER, PRIMARY KEY(stream, key)) WITHOUT ROWID;
CREATE TABLE dead_letter_rows(message INTEGER PRIMARY KEY, source INTEGER, receives INTEGER, moved_ms INTEGER);
CREATE TABLE deleted_message_blocks(first INTEGER PRIMARY KEY);
CREATE TABLE deleted_streams(stream INTEGER PRIMARY KEY, before INTEGER);
ALTER TABLE fleets ADD COLUMN provider TEXT;
ALTER TABLE fleets ADD COLUMN has_launched INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN ends_early INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN most INTEGER NOT NULL DEFAULT 1;
ALTER TABLE fleets ADD COLUMN most_milli_cpus INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN join_ms INTEGER NOT NULL DEFAULT 600000;
ALTER TABLE fleets ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN deleting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN trouble TEXT;
ALTER TABLE fleets ADD COLUMN not_before_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN spot_failures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN spot_trouble TEXT;
ALTER TABLE fleets ADD COLUMN spot_not_before_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN spot_ends_early INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN spot_failing_since_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN scaled_to INTEGER NOT NULL DEFAULT -1;
ALTER TABLE jobs ADD COLUMN spot TEXT NOT NULL DEFAULT 'prefer';
ALTER TABLE jobs ADD COLUMN on_demand_after_losses INTEGER NOT NULL DEFAULT 3;
ALTER TABLE jobs ADD COLUMN on_demand_after_ms INTEGER NOT NULL DEFAULT 600000;
UPDATE fleets SET most = coalesce(json_extract(text, '$.most'), 1);
CREATE TABLE machines(
  name TEXT PRIMARY KEY, fleet TEXT, shape TEXT, milli_cpus INTEGER, memory_bytes INTEGER, nvidia INTEGER, amd INTEGER,
  neuron INTEGER, spot INTEGER, state TEXT, provider_id TEXT, reason TEXT, ending TEXT, requested_ms INTEGER,
  join_by_ms INTEGER, joined_ms INTEGER, since_ms INTEGER, is_of_use INTEGER, hourly_microdollars INTEGER,
  hourly_on_demand_microdollars INTEGER, billed_from_ms INTEGER, attempts_microdollars INTEGER, attempts_rest INTEGER,
  attempts_on_demand_microdollars INTEGER,
  attempts_on_demand_rest INTEGER) WITHOUT ROWID;
ALTER TABLE fleets ADD COLUMN billed_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN billed_on_demand_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE fleets ADD COLUMN attempts_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN cost_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN on_demand_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN wasted_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN cost_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN on_demand_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE accounts ADD COLUMN wasted_microdollars INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt_rows ADD COLUMN cost_microdollars INTEGER;
ALTER TABLE attempt_rows ADD COLUMN on_demand_microdollars INTEGER;
)sql",
};

}  // namespace

const std::int64_t kSchemaVersion = std::size(kMigrations) + 1;

namespace {

Result<void> in_transaction(Database& db, const std::string& sql) {
  if (auto done = db.run("BEGIN IMMEDIATE"); !done) return done;
  auto done = db.run(sql);
  if (done) return db.run("COMMIT");
  if (auto undone = db.run("ROLLBACK"); !undone) return undone;
  return done;
}

Result<std::int64_t> version_of(Database& db) {
  auto known = db.number("SELECT count(*) FROM sqlite_master WHERE name = 'schema_version'");
  if (!known) return known;
  if (*known == 0) {
    auto tables = db.number("SELECT count(*) FROM sqlite_master");
    if (!tables) return tables;
    if (*tables == 0) {
      return fail(ErrorCode::not_found, concat(db.path(), ": no data has been recorded yet"),
                  "if a run has just been started, try again in a moment");
    }
    return fail(ErrorCode::damaged, concat(db.path(), ": is a database, but not a Drover ledger; it was not changed"),
                "choose another --data or --name");
  }
  auto version = db.number("SELECT version FROM schema_version");
  if (!version) return version;
  if (*version > kSchemaVersion) {
    return fail(ErrorCode::newer_schema,
                concat(db.path(), " was written by a newer Drover (schema ", *version, "; this version supports ",
                       kSchemaVersion, ")"),
                "use that version, or a newer one");
  }
  if (*version < 1) return fail(ErrorCode::damaged, concat(db.path(), ": has an invalid schema version"));
  return version;
}

Result<void> migrate(Database& db) {
  auto version = version_of(db);
  if (!version) return pass(version);
  if (*version == kSchemaVersion) return {};
  std::string sql = "DROP VIEW items; DROP VIEW attempts; DROP VIEW IF EXISTS dead_letters;";
  for (std::int64_t from = *version; from < kSchemaVersion; ++from) sql += kMigrations[from - 1];
  return in_transaction(db, concat(sql, kViews, "UPDATE schema_version SET version = ", kSchemaVersion, ";"));
}

}  // namespace

Result<void> check_schema(Database& db) {
  auto version = version_of(db);
  if (!version) return pass(version);
  if (*version == kSchemaVersion) return {};
  return fail(ErrorCode::bad_input,
              concat(db.path(), " was written by an older Drover (schema ", *version, "; this version reads ",
                     kSchemaVersion, ")"),
              "upgrade it by resuming the run with 'drover resume'");
}

Result<void> prepare_schema(Database& db) {
  auto tables = db.number("SELECT count(*) FROM sqlite_master");
  if (!tables) return pass(tables);
  if (*tables > 0) return migrate(db);
  // Takes effect only before the first table, and outside a transaction.
  if (auto done = db.run("PRAGMA auto_vacuum = INCREMENTAL"); !done) return done;
  if (auto done = db.run("PRAGMA journal_mode = WAL"); !done) return done;
  return in_transaction(db, concat(kTables, kViews, "INSERT INTO schema_version VALUES(", kSchemaVersion, ");"));
}

}  // namespace drover
