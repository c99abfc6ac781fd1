// The form of a row in the registry of errors.

/**
 * The party that caused an error: the HTTP client, the tenant's code, or the platform itself. Decides log level and
 * visibility.
 */
type Blame = 'client' | 'worker' | 'platform';

/** An error code: its HTTP status, who caused it, and its message. `{name}` in a message is replaced from details. */
export interface ErrorRow {
  readonly status: number;
  readonly blame: Blame;
  readonly message: string;
}
