// Limits of project databases. Part of core/limits.ts; not imported elsewhere.
import { MB, type Bounds } from './bound.ts';

export const databaseBounds = {
  statementBytesMax: ['DB_MAX_SQL_LENGTH_BYTES', 1_000_000, 'One statement'],
  parametersMax: ['DB_MAX_BOUND_PARAMETERS', 32_766, 'Values bound to one statement'],
  valueBytesMax: ['DB_MAX_VALUE_BYTES', 2_000_000, 'One string, blob or row'],
  batchStatementsMax: ['DB_MAX_BATCH_STATEMENTS', 1000, 'Statements of one `batch`'],
  execBytesMax: ['DB_MAX_EXEC_BYTES', 1_048_576, 'SQL text of one `exec`'],
  execStatementsMax: ['DB_MAX_EXEC_STATEMENTS', 1000, 'Statements of one `exec`'],
  requestBytesMax: ['DB_MAX_REQUEST_BYTES', 16 * MB, 'One request with all its values'],
  resultBytesMax: ['DB_MAX_RESULT_BYTES', 16 * MB, 'One answer'],
  dumpBytesMax: ['DB_MAX_DUMP_BYTES', 64 * MB, 'The largest database that `dump` gives'],
  databaseBytesMax: ['DB_MAX_DATABASE_BYTES', 10_000_000_000, 'One database file'],
  diskFreeBytesMin: [
    'DB_DISK_FREE_BYTES_MIN',
    256 * MB,
    "Free space of the databases' disk below which no database grows",
  ],
  branchBytesMax: [
    'DB_MAX_BRANCH_BYTES',
    1_000_000_000,
    'A database that is copied for a preview, where the file system does not share blocks',
  ],
  snapshotsMax: ['DB_SNAPSHOTS_MAX', 5, "Snapshots of a project's databases; the oldest goes for a new one"],
  importBytesMax: ['DB_MAX_IMPORT_BYTES', 20_000_000_000, 'A file that is imported: SQL text, or a SQLite file'],
  importMs: ['DB_IMPORT_MS', 3_600_000, 'An import, from its first statement to its commit'],
  importsMax: ['DB_IMPORTS_MAX', 2, 'Imports at a time, each in a process of its own; one of a project'],
  sharedStatementMs: [
    'DB_SHARED_STATEMENT_MS',
    1000,
    'A statement or a batch, before its database gets a process of its own, where it begins again',
  ],
  slowStatementMs: ['DB_SLOW_STATEMENT_MS', 10, 'A statement that takes longer is among the slow ones'],
  statementMs: ['DB_STATEMENT_MS', 30_000, 'A statement or a batch'],
  transactionMs: ['DB_TRANSACTION_MS', 5000, 'An interactive transaction from `begin` to the end'],
  waitMs: ['DB_WAIT_MS', 10_000, 'How long a write waits for an interactive transaction of somebody else'],
  waitingMax: ['DB_WAITING_MAX', 1000, 'Requests of one database that wait for a transaction'],
  outboxMax: ['DB_OUTBOX_MAX', 10_000, 'Messages in the outbox of a database that are not in their queue yet'],
  greetingMs: [
    'DB_GREETING_MS',
    5000,
    'How long an engine on another machine may take to greet the service, and to agree on TLS before',
  ],
  inFlightMax: ['DB_IN_FLIGHT_MAX', 4096, 'Requests of one engine that wait for one process of the service'],
  statementMemoryMb: ['DB_STATEMENT_MEMORY_MB', 512, 'Memory that one statement may add to its process'],
  openMax: ['DB_OPEN_MAX', 128, 'Databases that one process holds open'],
  checkBytesMax: [
    'DB_CHECK_BYTES_MAX',
    64 * MB,
    'Files up to this size are checked when they are opened after a crash',
  ],
  ownProcessesMax: ['DB_OWN_PROCESSES_MAX', 8, 'Databases with a process of their own'],
  probationMs: [
    'DB_PROBATION_MS',
    600_000,
    'How long a database that overran keeps its own process without another incident',
  ],
} satisfies Bounds;
