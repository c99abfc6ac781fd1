// `Sql` over one SQLite file, for `platform dev`. One statement or transaction at a time; the tables are those of
// postgres/migrations/000001_bindings.sql, without what only Postgres needs.
import type Database from 'better-sqlite3';
import type { Sql, SqlValue } from './sql.ts';
import { openSqliteFile } from './sqlite-file.ts';

const claimed =
  'seq INTEGER PRIMARY KEY AUTOINCREMENT, lane_id INTEGER NOT NULL, due_at INTEGER, lease TEXT, attempt INTEGER NOT NULL DEFAULT 0';
const sender = 'project TEXT NOT NULL, branch TEXT NOT NULL';
const ofRun =
  'seq INTEGER PRIMARY KEY AUTOINCREMENT, execution_seq INTEGER NOT NULL REFERENCES workflow_execution ON DELETE CASCADE';

/** One more is appended for every change; `user_version` counts those that a file has. */
const schemas: readonly string[] = [
  `
CREATE TABLE lane (
  id INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, namespace TEXT NOT NULL, resource TEXT NOT NULL,
  concurrency INTEGER NOT NULL DEFAULT 0, paused INTEGER NOT NULL DEFAULT 0, consumed INTEGER NOT NULL DEFAULT 1,
  UNIQUE (kind, namespace, resource));
CREATE TABLE queue_message (
  ${claimed}, message_id TEXT NOT NULL, payload TEXT NOT NULL, sent_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
  ordering_key TEXT, ${sender}, binding TEXT NOT NULL, dead_reason TEXT);
CREATE INDEX queue_message_due ON queue_message (lane_id, due_at);
CREATE INDEX queue_message_leased ON queue_message (lane_id) WHERE lease IS NOT NULL;
CREATE INDEX queue_message_ordered ON queue_message (lane_id, ordering_key, seq) WHERE ordering_key IS NOT NULL;
CREATE TABLE queue_dedupe (
  lane_id INTEGER NOT NULL, dedupe_id TEXT NOT NULL, message_id TEXT NOT NULL, expires_at INTEGER NOT NULL,
  PRIMARY KEY (lane_id, dedupe_id));
CREATE TABLE timer (
  ${claimed}, timer_id TEXT NOT NULL, scheduled_at INTEGER NOT NULL, payload TEXT, interval_ms INTEGER, cron TEXT, timezone TEXT,
  overlap TEXT, ${sender}, binding TEXT NOT NULL, fired_at INTEGER, outcome TEXT, UNIQUE (lane_id, timer_id));
CREATE INDEX timer_due ON timer (lane_id, due_at);
CREATE INDEX timer_leased ON timer (lane_id) WHERE lease IS NOT NULL;
CREATE TABLE workflow_execution (
  ${claimed}, execution_id TEXT NOT NULL, ${sender}, deployment TEXT NOT NULL, status TEXT NOT NULL,
  paused INTEGER NOT NULL DEFAULT 0, signalled INTEGER NOT NULL DEFAULT 0, input TEXT NOT NULL, output TEXT, error TEXT,
  created_at INTEGER NOT NULL, started_at INTEGER, completed_at INTEGER, UNIQUE (lane_id, execution_id));
CREATE INDEX workflow_execution_due ON workflow_execution (lane_id, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX workflow_execution_leased ON workflow_execution (lane_id) WHERE lease IS NOT NULL;
CREATE TABLE workflow_step (
  ${ofRun}, name TEXT NOT NULL, kind TEXT NOT NULL, status TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, result TEXT,
  error TEXT, wake_at INTEGER, event_type TEXT, started_at INTEGER NOT NULL, ended_at INTEGER, UNIQUE (execution_seq, name));
CREATE TABLE workflow_event (${ofRun}, type TEXT NOT NULL, payload TEXT NOT NULL, sent_at INTEGER NOT NULL);
CREATE INDEX workflow_event_execution ON workflow_event (execution_seq, type, seq);
CREATE TABLE workflow_log (${ofRun}, at INTEGER NOT NULL, message TEXT NOT NULL, content TEXT);
CREATE INDEX workflow_log_execution ON workflow_log (execution_seq, seq);`,
  `
CREATE TABLE outbox_database (
  namespace TEXT NOT NULL, resource TEXT NOT NULL, touched_at INTEGER NOT NULL, check_at INTEGER NOT NULL,
  PRIMARY KEY (namespace, resource));
CREATE INDEX outbox_database_due ON outbox_database (check_at);`,
  'ALTER TABLE queue_message ADD COLUMN dead_attempts INTEGER NOT NULL DEFAULT 0;',
];

/** The tables of bindings in a file. */
interface SqliteSql extends Sql {
  readonly technology: 'sqlite';
  close(): Promise<void>;
}

/** Opens the file, and makes it where there is none. `:memory:` keeps nothing. */
export function openSqliteSql(file: string): SqliteSql {
  const db = openSqliteFile(file);
  db.pragma('synchronous = FULL');
  db.pragma('foreign_keys = ON');
  db.pragma('case_sensitive_like = ON');
  const made = db.pragma('user_version', { simple: true }) as number;
  if (made > schemas.length) throw new Error(`${file} was written by a newer version of the platform`);
  db.transaction(() => {
    for (const schema of schemas.slice(made)) db.exec(schema);
    db.pragma(`user_version = ${schemas.length}`);
  }).immediate();
  const prepared = new Map<string, Database.Statement>();
  let busy: Promise<void> | null = null;

  function run<Row>(text: string, parameters: readonly SqlValue[]): Row[] {
    let statement = prepared.get(text);
    if (statement === undefined) prepared.set(text, (statement = db.prepare(text)));
    const named: Record<string, SqlValue> = {};
    for (const [index, value] of parameters.entries()) named[index + 1] = value;
    if (statement.reader) return statement.all(named) as Row[];
    statement.run(named);
    return [];
  }

  /** Inside a transaction: nobody else's statement comes between. */
  const inside: Sql = {
    technology: 'sqlite',
    lock: '',
    all: async (text, ...parameters) => run(text, parameters),
    asyncCommit: async (text, ...parameters) => run(text, parameters),
    transaction: (work) => work(inside),
  };

  async function transaction<Result>(work: (sql: Sql) => Promise<Result>): Promise<Result> {
    while (busy !== null) await busy;
    let free!: () => void;
    busy = new Promise((resolve) => (free = resolve));
    try {
      db.exec('BEGIN IMMEDIATE');
      try {
        const result = await work(inside);
        db.exec('COMMIT');
        return result;
      } catch (error) {
        if (db.inTransaction) db.exec('ROLLBACK');
        throw error;
      }
    } finally {
      busy = null;
      free();
    }
  }

  async function all<Row>(text: string, ...parameters: readonly SqlValue[]): Promise<Row[]> {
    while (busy !== null) await busy;
    return run(text, parameters);
  }

  return {
    ...inside,
    technology: 'sqlite',
    transaction,
    all,
    asyncCommit: all,
    async close() {
      while (busy !== null) await busy;
      db.close();
    },
  };
}
