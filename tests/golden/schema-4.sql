PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_version(version INTEGER NOT NULL);
INSERT INTO schema_version VALUES(4);
CREATE TABLE counters(now_ms INTEGER, next_job INTEGER, next_grant INTEGER, next_worker INTEGER, next_event INTEGER);
INSERT INTO counters VALUES(1794839094753,2,4,2,5);
CREATE TABLE jobs(
  job INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, state TEXT, stop TEXT, reason TEXT,
  definition INTEGER, manifest INTEGER, total INTEGER, succeeded INTEGER, failed INTEGER, cancelled INTEGER,
  failed_before INTEGER, epoch INTEGER, created_ms INTEGER, ended_ms INTEGER,
  max_tries INTEGER, rules TEXT, lost_limit INTEGER, retry_delay_ms INTEGER, timeout_ms INTEGER, grace_ms INTEGER,
  max_failures INTEGER, milli_cpus INTEGER, memory_bytes INTEGER, nvidia INTEGER, amd INTEGER, neuron INTEGER,
  require TEXT, queue TEXT, share TEXT, priority INTEGER, owner TEXT, after TEXT, sequential INTEGER,
  max_running INTEGER, job_timeout_ms INTEGER, started_ms INTEGER, named_definition TEXT,
  used_cpu_ms INTEGER, reserved_cpu_ms INTEGER, used_memory_mib_s INTEGER,
  accelerator_ms INTEGER, wasted_cpu_ms INTEGER, wasted_reserved_ms INTEGER, attempts INTEGER, failed_attempts INTEGER,
  lost_attempts INTEGER);
INSERT INTO jobs VALUES(1,'19bc97a0-200e-44c5-8469-a34e66ba6386','old','failed','none',NULL,1,1,6,5,1,0,0,0,1794839094701,1794839094753,2,NULL,20,0,0,30000,9223372036854775807,0,0,0,0,0,NULL,'default',NULL,0,NULL,NULL,0,0,0,1794839094745,NULL,5,0,0,0,2,0,7,2,0);
CREATE TABLE blocks(job INTEGER, block INTEGER, marks BLOB, PRIMARY KEY(job, block)) WITHOUT ROWID;
INSERT INTO blocks VALUES(1,0,X'ea0a');
CREATE TABLE open_items(
  job INTEGER, item INTEGER, grant_id INTEGER, attempts INTEGER, tries INTEGER, losses INTEGER, counted INTEGER,
  started_ms INTEGER, not_before_ms INTEGER, PRIMARY KEY(job, item)) WITHOUT ROWID;
CREATE TABLE grants(
  grant_id INTEGER PRIMARY KEY, job INTEGER, worker INTEGER, poll INTEGER, first INTEGER, count INTEGER);
CREATE TABLE workers(
  worker INTEGER PRIMARY KEY, name TEXT, incarnation INTEGER, term_ms INTEGER, registered_ms INTEGER, milli_cpus INTEGER,
  memory_bytes INTEGER, nvidia INTEGER, amd INTEGER, neuron INTEGER, labels TEXT, quarantine TEXT);
INSERT INTO workers VALUES(1,'local',4452354642102503158,0,1794839094698,9223372036854775807,9223372036854775807,9223372036854775807,9223372036854775807,9223372036854775807,NULL,NULL);
CREATE TABLE queues(
  name TEXT PRIMARY KEY, priority INTEGER, enabled INTEGER, share_order TEXT, decay_s INTEGER, reserved_percent INTEGER,
  weights TEXT, fleets TEXT, created_ms INTEGER, usage_from_ms INTEGER) WITHOUT ROWID;
CREATE TABLE shares(
  queue TEXT NOT NULL, share TEXT, used_high INTEGER, used_low INTEGER, since_ms INTEGER);
CREATE TABLE named_definitions(
  name TEXT, revision INTEGER, definition INTEGER, active INTEGER, created_ms INTEGER, owner TEXT,
  PRIMARY KEY(name, revision)) WITHOUT ROWID;
CREATE TABLE fleets(name TEXT PRIMARY KEY, text TEXT, created_ms INTEGER) WITHOUT ROWID;
CREATE TABLE accounts(
  owner TEXT, jobs INTEGER, used_cpu_ms INTEGER, reserved_cpu_ms INTEGER, used_memory_mib_s INTEGER,
  accelerator_ms INTEGER, wasted_cpu_ms INTEGER, wasted_reserved_ms INTEGER, attempts INTEGER, failed_attempts INTEGER,
  lost_attempts INTEGER);
CREATE TABLE events(event INTEGER PRIMARY KEY, at_ms INTEGER, kind TEXT, job TEXT, name TEXT, detail TEXT);
INSERT INTO events VALUES(1,1794839094698,'worker_joined',NULL,'local',NULL);
INSERT INTO events VALUES(2,1794839094701,'job_submitted','19bc97a0-200e-44c5-8469-a34e66ba6386','old',NULL);
INSERT INTO events VALUES(3,1794839094745,'job_started','19bc97a0-200e-44c5-8469-a34e66ba6386','old',NULL);
INSERT INTO events VALUES(4,1794839094753,'job_ended','19bc97a0-200e-44c5-8469-a34e66ba6386','old','failed');
CREATE TABLE attempt_rows(
  job INTEGER, item INTEGER, attempt INTEGER, state INTEGER, ending INTEGER, exit_code INTEGER, signal INTEGER,
  reason TEXT, worker INTEGER, started_ms INTEGER, ended_ms INTEGER, wall_us INTEGER, user_us INTEGER, system_us INTEGER,
  peak_memory_kib INTEGER, read_bytes INTEGER, written_bytes INTEGER, slot INTEGER, log_bytes INTEGER, last_line TEXT,
  log BLOB, settled INTEGER, PRIMARY KEY(job, item, attempt)) WITHOUT ROWID;
INSERT INTO attempt_rows VALUES(1,0,1,1,0,0,NULL,NULL,1,1794839094747,1794839094748,1074,567,0,1628,0,0,0,0,NULL,NULL,1);
INSERT INTO attempt_rows VALUES(1,1,1,1,0,0,NULL,NULL,1,1794839094747,1794839094748,919,697,0,1636,0,0,1,0,NULL,NULL,1);
INSERT INTO attempt_rows VALUES(1,2,1,1,0,0,NULL,NULL,1,1794839094748,1794839094749,677,572,0,1620,0,0,1,0,NULL,NULL,1);
INSERT INTO attempt_rows VALUES(1,3,1,2,0,3,NULL,'exited with code 3',1,1794839094748,1794839094749,1224,536,0,1556,0,0,0,0,'no four',NULL,0);
INSERT INTO attempt_rows VALUES(1,3,2,2,0,3,NULL,'exited with code 3',1,1794839094750,1794839094751,582,506,0,1620,0,0,1,0,'no four',NULL,1);
INSERT INTO attempt_rows VALUES(1,4,1,1,0,0,NULL,NULL,1,1794839094749,1794839094750,561,472,0,1436,0,0,1,0,NULL,NULL,1);
INSERT INTO attempt_rows VALUES(1,5,1,1,0,0,NULL,NULL,1,1794839094749,1794839094752,3295,478,0,1468,0,0,0,0,NULL,NULL,1);
CREATE TABLE deleted_jobs(job INTEGER PRIMARY KEY);
CREATE TABLE deleted_manifests(manifest INTEGER PRIMARY KEY);
CREATE TABLE definitions(definition INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL);
INSERT INTO definitions VALUES(1,'{"command":["sh","-c","test $1 != four || { echo no four >&2; exit 3; }","sh","{}"],"shell":false,"workdir":"/tmp","environment":{},"items":"text","limits":{"log_bytes":67108864}}');
CREATE TABLE manifests(manifest INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER, items INTEGER, first_number INTEGER);
INSERT INTO manifests VALUES(1,0,6,0);
CREATE TABLE manifest_chunks(
  manifest INTEGER, first INTEGER, count INTEGER, data BLOB, PRIMARY KEY(manifest, first)) WITHOUT ROWID;
INSERT INTO manifest_chunks VALUES(1,0,6,X'28b52ffd201ce10000036f6e650374776f05746872656504666f7572046669766503736978');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('manifests',1);
INSERT INTO sqlite_sequence VALUES('definitions',1);
CREATE UNIQUE INDEX shares_by_name ON shares(queue, coalesce(share, ''));
CREATE UNIQUE INDEX accounts_by_owner ON accounts(coalesce(owner, ''));
CREATE VIEW attempts AS
  SELECT j.id AS job, j.name AS job_name, a.item AS item, a.attempt AS attempt,
    CASE a.state WHEN 1 THEN 'succeeded' WHEN 2 THEN 'failed' WHEN 3 THEN 'cancelled' ELSE 'lost' END AS state,
    CASE a.ending WHEN 0 THEN 'exited' WHEN 1 THEN 'signalled' WHEN 2 THEN 'timed_out' WHEN 3 THEN 'not_started'
      WHEN 4 THEN 'stopped' WHEN 5 THEN 'lost' ELSE 'out_of_memory' END AS ending,
    a.exit_code AS exit_code, a.signal AS signal, a.reason AS reason, w.name AS worker,
    a.started_ms AS started_ms, a.ended_ms AS ended_ms, (a.user_us + a.system_us + 500) / 1000 AS cpu_ms,
    a.peak_memory_kib AS peak_memory_kib, a.wall_us AS wall_us, a.user_us AS user_us, a.system_us AS system_us,
    a.read_bytes AS read_bytes, a.written_bytes AS written_bytes, a.slot AS slot, a.log_bytes AS log_bytes,
    a.last_line AS last_line, a.settled AS settled
  FROM attempt_rows a JOIN jobs j ON j.job = a.job LEFT JOIN workers w ON w.worker = a.worker;
CREATE VIEW items AS
  SELECT job, job_name, item, attempt, state, ending, exit_code, signal, reason, worker, started_ms, ended_ms, cpu_ms,
    peak_memory_kib, wall_us, user_us, system_us, read_bytes, written_bytes, slot, log_bytes, last_line
  FROM attempts WHERE settled;
COMMIT;
