PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE schema_version(version INTEGER NOT NULL);
INSERT INTO schema_version VALUES(1);
CREATE TABLE counters(now_ms INTEGER, next_job INTEGER, next_grant INTEGER, next_worker INTEGER);
INSERT INTO counters VALUES(1794724819693,2,4,2);
CREATE TABLE jobs(
  job INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, name TEXT, state TEXT, stop TEXT, reason TEXT,
  definition INTEGER, manifest INTEGER, total INTEGER, succeeded INTEGER, failed INTEGER, cancelled INTEGER,
  failed_before INTEGER, epoch INTEGER, created_ms INTEGER, ended_ms INTEGER,
  max_tries INTEGER, rules TEXT, lost_limit INTEGER, retry_delay_ms INTEGER, timeout_ms INTEGER, grace_ms INTEGER,
  max_failures INTEGER);
INSERT INTO jobs VALUES(1,'bfc9bc2a-0d68-41de-b8a1-2d88fb70a590','old','failed','none',NULL,1,1,6,5,1,0,0,0,1794724819686,1794724819693,2,NULL,20,0,0,30000,9223372036854775807);
CREATE TABLE blocks(job INTEGER, block INTEGER, marks BLOB, PRIMARY KEY(job, block)) WITHOUT ROWID;
INSERT INTO blocks VALUES(1,0,X'ea0a');
CREATE TABLE open_items(
  job INTEGER, item INTEGER, grant_id INTEGER, attempts INTEGER, tries INTEGER, losses INTEGER, counted INTEGER,
  started_ms INTEGER, not_before_ms INTEGER, PRIMARY KEY(job, item)) WITHOUT ROWID;
CREATE TABLE grants(
  grant_id INTEGER PRIMARY KEY, job INTEGER, worker INTEGER, poll INTEGER, first INTEGER, count INTEGER);
CREATE TABLE workers(worker INTEGER PRIMARY KEY, name TEXT, incarnation INTEGER, term_ms INTEGER, registered_ms INTEGER);
INSERT INTO workers VALUES(1,'local',8560216894164892386,0,1794724819686);
CREATE TABLE attempt_rows(
  job INTEGER, item INTEGER, attempt INTEGER, state INTEGER, ending INTEGER, exit_code INTEGER, signal INTEGER,
  reason TEXT, worker INTEGER, started_ms INTEGER, ended_ms INTEGER, wall_us INTEGER, user_us INTEGER, system_us INTEGER,
  peak_memory_kib INTEGER, settled INTEGER, PRIMARY KEY(job, item, attempt)) WITHOUT ROWID;
INSERT INTO attempt_rows VALUES(1,0,1,1,0,0,NULL,NULL,1,1794724819689,1794724819690,804,728,0,1396,1);
INSERT INTO attempt_rows VALUES(1,1,1,1,0,0,NULL,NULL,1,1794724819689,1794724819690,1142,754,0,1456,1);
INSERT INTO attempt_rows VALUES(1,2,1,1,0,0,NULL,NULL,1,1794724819690,1794724819691,709,563,0,1468,1);
INSERT INTO attempt_rows VALUES(1,3,1,2,0,3,NULL,'exited with code 3',1,1794724819690,1794724819691,817,647,0,1632,0);
INSERT INTO attempt_rows VALUES(1,3,2,2,0,3,NULL,'exited with code 3',1,1794724819692,1794724819693,816,720,0,1456,1);
INSERT INTO attempt_rows VALUES(1,4,1,1,0,0,NULL,NULL,1,1794724819690,1794724819691,692,572,0,1516,1);
INSERT INTO attempt_rows VALUES(1,5,1,1,0,0,NULL,NULL,1,1794724819691,1794724819692,594,566,0,1600,1);
CREATE TABLE outputs(
  job INTEGER, item INTEGER, attempt INTEGER, stdout BLOB, stderr BLOB, PRIMARY KEY(job, item, attempt)) WITHOUT ROWID;
INSERT INTO outputs VALUES(1,0,1,X'6974656d20310a',X'');
INSERT INTO outputs VALUES(1,1,1,X'6974656d20320a',X'');
INSERT INTO outputs VALUES(1,2,1,X'6974656d20330a',X'');
INSERT INTO outputs VALUES(1,3,1,X'6974656d20340a',X'6e6f20666f75720a');
INSERT INTO outputs VALUES(1,3,2,X'6974656d20340a',X'6e6f20666f75720a');
INSERT INTO outputs VALUES(1,4,1,X'6974656d20350a',X'');
INSERT INTO outputs VALUES(1,5,1,X'6974656d20360a',X'');
CREATE TABLE definitions(definition INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL);
INSERT INTO definitions VALUES(1,'{"command":["echo item {}; [ {} -ne 4 ] || { echo no four >&2; exit 3; }"],"shell":true,"workdir":"/tmp","environment":{},"items":"text"}');
CREATE TABLE manifests(manifest INTEGER PRIMARY KEY AUTOINCREMENT, kind INTEGER, items INTEGER, first_number INTEGER);
INSERT INTO manifests VALUES(1,1,6,1);
CREATE TABLE manifest_chunks(
  manifest INTEGER, first INTEGER, count INTEGER, data BLOB, PRIMARY KEY(manifest, first)) WITHOUT ROWID;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('manifests',1);
INSERT INTO sqlite_sequence VALUES('definitions',1);
CREATE VIEW attempts AS
  SELECT j.id AS job, j.name AS job_name, a.item AS item, a.attempt AS attempt,
    CASE a.state WHEN 1 THEN 'succeeded' WHEN 2 THEN 'failed' WHEN 3 THEN 'cancelled' ELSE 'lost' END AS state,
    CASE a.ending WHEN 0 THEN 'exited' WHEN 1 THEN 'signalled' WHEN 2 THEN 'timed_out' WHEN 3 THEN 'not_started'
      WHEN 4 THEN 'stopped' ELSE 'lost' END AS ending,
    a.exit_code AS exit_code, a.signal AS signal, a.reason AS reason, w.name AS worker,
    a.started_ms AS started_ms, a.ended_ms AS ended_ms, (a.user_us + a.system_us + 500) / 1000 AS cpu_ms,
    a.peak_memory_kib AS peak_memory_kib, a.wall_us AS wall_us, a.user_us AS user_us, a.system_us AS system_us,
    a.settled AS settled
  FROM attempt_rows a JOIN jobs j ON j.job = a.job LEFT JOIN workers w ON w.worker = a.worker;
CREATE VIEW items AS
  SELECT job, job_name, item, attempt, state, ending, exit_code, signal, reason, worker, started_ms, ended_ms, cpu_ms,
    peak_memory_kib, wall_us, user_us, system_us
  FROM attempts WHERE settled;
COMMIT;
