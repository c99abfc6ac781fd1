// The bounds of project databases, with the environment variable of each: the database service's own processes read
// them, and the cloud store. Pure.

/** Bytes, milliseconds and counts as the name says. */
export interface DatabaseLimits {
  /** One statement. */
  readonly statementBytesMax: number;
  /** Values bound to one statement. */
  readonly parametersMax: number;
  /** One string, blob or row. */
  readonly valueBytesMax: number;
  /** Statements of one `batch`. */
  readonly batchStatementsMax: number;
  /** SQL text of one `exec`. */
  readonly execBytesMax: number;
  /** Statements of one `exec`. */
  readonly execStatementsMax: number;
  /** One request with all its values. */
  readonly requestBytesMax: number;
  /** One answer. */
  readonly resultBytesMax: number;
  /** `dump`. */
  readonly dumpBytesMax: number;
  /** One database file. */
  readonly databaseBytesMax: number;
  /** Free space of the databases' disk below which no database grows. */
  readonly diskFreeBytesMin: number;
  /** A database that is copied for a preview, where the file system does not share blocks. */
  readonly branchBytesMax: number;
  /** A statement or a batch, before its database gets a process of its own, where it begins again. */
  readonly sharedStatementMs: number;
  /** A statement or a batch. */
  readonly statementMs: number;
  /** An interactive transaction from `begin` to the end. */
  readonly transactionMs: number;
  /** How long a write waits for an interactive transaction of somebody else. */
  readonly waitMs: number;
  /** Requests of one database that wait for a transaction. */
  readonly waitingMax: number;
  /** Messages in the outbox of a database that are not in their queue yet. */
  readonly outboxMax: number;
  /** How long an engine on another machine may take to greet the service, and to agree on TLS before. */
  readonly greetingMs: number;
  /** Requests of one engine that wait for one process of the service. */
  readonly inFlightMax: number;
  /** Memory that one statement may add to its process. */
  readonly statementMemoryMb: number;
  /** Databases that one process holds open. */
  readonly openMax: number;
  /** Files up to this size are checked when they are opened after a crash. */
  readonly checkBytesMax: number;
  /** Databases with a process of their own. */
  readonly ownProcessesMax: number;
  /** How long a database that overran keeps its own process without another incident. */
  readonly probationMs: number;
}

export const defaultDatabaseLimits: DatabaseLimits = {
  statementBytesMax: 1_000_000,
  parametersMax: 32_766,
  valueBytesMax: 2_000_000,
  batchStatementsMax: 1000,
  execBytesMax: 1_048_576,
  execStatementsMax: 1000,
  requestBytesMax: 16 * 1024 * 1024,
  resultBytesMax: 16 * 1024 * 1024,
  dumpBytesMax: 64 * 1024 * 1024,
  databaseBytesMax: 10_000_000_000,
  diskFreeBytesMin: 256 * 1024 * 1024,
  branchBytesMax: 1_000_000_000,
  sharedStatementMs: 1000,
  statementMs: 30_000,
  transactionMs: 5000,
  waitMs: 10_000,
  waitingMax: 1000,
  outboxMax: 10_000,
  greetingMs: 5000,
  inFlightMax: 4096,
  statementMemoryMb: 512,
  openMax: 128,
  checkBytesMax: 64 * 1024 * 1024,
  ownProcessesMax: 8,
  probationMs: 600_000,
};

/** The environment variable of each bound. */
export const databaseLimitVariables = {
  statementBytesMax: 'DB_MAX_SQL_LENGTH_BYTES',
  parametersMax: 'DB_MAX_BOUND_PARAMETERS',
  valueBytesMax: 'DB_MAX_VALUE_BYTES',
  batchStatementsMax: 'DB_MAX_BATCH_STATEMENTS',
  execBytesMax: 'DB_MAX_EXEC_BYTES',
  execStatementsMax: 'DB_MAX_EXEC_STATEMENTS',
  requestBytesMax: 'DB_MAX_REQUEST_BYTES',
  resultBytesMax: 'DB_MAX_RESULT_BYTES',
  dumpBytesMax: 'DB_MAX_DUMP_BYTES',
  databaseBytesMax: 'DB_MAX_DATABASE_BYTES',
  diskFreeBytesMin: 'DB_DISK_FREE_BYTES_MIN',
  branchBytesMax: 'DB_MAX_BRANCH_BYTES',
  sharedStatementMs: 'DB_SHARED_STATEMENT_MS',
  statementMs: 'DB_STATEMENT_MS',
  transactionMs: 'DB_TRANSACTION_MS',
  waitMs: 'DB_WAIT_MS',
  waitingMax: 'DB_WAITING_MAX',
  outboxMax: 'DB_OUTBOX_MAX',
  greetingMs: 'DB_GREETING_MS',
  inFlightMax: 'DB_IN_FLIGHT_MAX',
  statementMemoryMb: 'DB_STATEMENT_MEMORY_MB',
  openMax: 'DB_OPEN_MAX',
  checkBytesMax: 'DB_CHECK_BYTES_MAX',
  ownProcessesMax: 'DB_OWN_PROCESSES_MAX',
  probationMs: 'DB_PROBATION_MS',
} as const satisfies Record<keyof DatabaseLimits, string>;

/**
 * Bounds with the overrides of an environment.
 *
 * @throws {Error} naming the variable, its value and what it takes, when one is not a whole number of at least 1.
 */
export function databaseLimitsFrom(environment: Readonly<Record<string, string | undefined>>): DatabaseLimits {
  const limits: Record<string, number> = { ...defaultDatabaseLimits };
  for (const [key, variable] of Object.entries(databaseLimitVariables)) {
    const value = environment[variable];
    if (value === undefined || value === '') continue;
    if (!/^[1-9]\d{0,14}$/.test(value.trim()))
      throw new Error(`${variable} must be a whole number of at least 1, but is "${value}"`);
    limits[key] = Number(value);
  }
  return limits as unknown as DatabaseLimits;
}
