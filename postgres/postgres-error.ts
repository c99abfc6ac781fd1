// Errors of Postgres and of connections to it, as all others see them: a code and a message. What else the library
// hangs on its errors (values of rows, the connection with its settings) goes no further.

/**
 * An error of the server, with its SQLSTATE; or of the connection, with `CONNECTION_CLOSED`, `CONNECT_TIMEOUT` or the
 * system's code.
 */
export class PostgresError extends Error {
  readonly code: string;
  /** The server's own function that said it: tells a plan that is out of date from a statement that is wrong. */
  readonly routine: string;

  constructor(code: string, message: string, routine = '') {
    super(message);
    this.name = 'PostgresError';
    this.code = code;
    this.routine = routine;
  }
}

/** What the server has for an error of its own, and we for an answer that cannot be understood. */
export const internal = 'XX000';

/** @param isLost whether the connection of it is gone, which the library's error does not always say. */
export function toPostgresError(error: unknown, isLost: boolean): PostgresError {
  const { code, message, routine } = error as { code?: unknown; message: string; routine?: string };
  if (typeof code === 'string') return new PostgresError(code, message, routine);
  if (message === 'timeout expired') return new PostgresError('CONNECT_TIMEOUT', 'The database did not answer in time');
  // What it says of a way to sign in.
  if (message.startsWith('SASL')) return new PostgresError('28000', message);
  return new PostgresError(isLost ? 'CONNECTION_CLOSED' : internal, message);
}

/** SQLSTATE of an error, or the code of a connection's (`CONNECTION_CLOSED`, `ECONNREFUSED`). */
export function sqlState(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Whether the server is away, or was while the statement ran: the same may succeed in a moment. */
export function isConnectionTrouble(error: unknown): boolean {
  const state = sqlState(error);
  return /^(?:08...|57P0[1-3]|CONNECT\w*|CONNECTION_\w+|ECONN\w+|E(?:HOST|NET)UNREACH|EAI_AGAIN|ENOTFOUND|ENOENT|EPIPE|ETIMEDOUT)$/.test(
    state,
  );
}

const staleRoutines = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery', 'transformAssignedExpr']);

/** Whether a prepared statement does not fit the tables any more, or is gone. */
export function isStale({ routine }: PostgresError): boolean {
  return staleRoutines.has(routine);
}

/** Whether the server was asked for TLS and has none. */
export function isWithoutTls(error: unknown): boolean {
  return (error as Error).message === 'The server does not support SSL connections';
}
