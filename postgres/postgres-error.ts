// Errors of Postgres and its connections for other code: a code and a message. Other data in the library's errors
// (values of rows, the connection with its settings) is dropped.

/**
 * An error of the server, with its SQLSTATE; or of the connection, with `CONNECTION_CLOSED`, `CONNECT_TIMEOUT` or the
 * system's code.
 */
export interface PostgresError extends Error {
  readonly code: string;
  /** The server's internal function that raised it: distinguishes an outdated plan from a wrong statement. */
  readonly routine: string;
}

export function postgresError(code: string, message: string, routine = ''): PostgresError {
  return Object.assign(new Error(message), { name: 'PostgresError', code, routine });
}

/** The server's code for internal errors, and ours for a malformed response. */
export const internal = 'XX000';

/** @param isLost whether its connection is lost, which the library's error does not always tell. */
export function toPostgresError(error: unknown, isLost: boolean): PostgresError {
  const { code, message, routine } = error as { code?: unknown; message: string; routine?: string };
  if (typeof code === 'string') return postgresError(code, message, routine);
  if (message === 'timeout expired') return postgresError('CONNECT_TIMEOUT', 'The database did not answer in time');
  // Messages about authentication methods.
  if (message.startsWith('SASL')) return postgresError('28000', message);
  return postgresError(isLost ? 'CONNECTION_CLOSED' : internal, message);
}

/** SQLSTATE of an error, or the code of a connection error (`CONNECTION_CLOSED`, `ECONNREFUSED`). */
export function sqlState(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Whether the server is unavailable, or was during the statement: a retry may succeed shortly. */
export function isConnectionError(error: unknown): boolean {
  const state = sqlState(error);
  return /^(?:08...|57P0[1-3]|CONNECT\w*|CONNECTION_\w+|ECONN\w+|E(?:HOST|NET)UNREACH|EAI_AGAIN|ENOTFOUND|ENOENT|EPIPE|ETIMEDOUT)$/.test(
    state,
  );
}

const staleRoutines = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery', 'transformAssignedExpr']);

/** Whether a prepared statement no longer matches the tables, or no longer exists. */
export function isStale({ routine }: PostgresError): boolean {
  return staleRoutines.has(routine);
}

/** Whether TLS was requested and the server has none. */
export function isWithoutTls(error: unknown): boolean {
  return (error as Error).message === 'The server does not support SSL connections';
}
