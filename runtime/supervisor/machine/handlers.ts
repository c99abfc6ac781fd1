// Determines where the API and the broker of this machine find handlers: at API_HANDLER_URL, or on this machine and the
// machines that have announced themselves. Pure.

/** Variables for the environment of the API and the broker. */
export interface Handlers {
  /** Private ports of all machines, or of this machine only. */
  readonly urls: string;
  readonly token: string;
  /**
   * Address of this machine's own private port as announced in Postgres, or `none`; the other machines are found there.
   * Null means that `urls` are all handlers.
   */
  readonly machineOrigin: string | null;
}

/**
 * @param given `API_HANDLER_URL`, which overrides the announced machines.
 * @param local origin of this supervisor's private port, if handlers run here.
 * @param origin origin of that port for other machines; null if they cannot reach it.
 */
export function handlersOf(given: string, local: string | null, origin: string | null): Omit<Handlers, 'token'> {
  if (given !== '') return { urls: given, machineOrigin: null };
  return { urls: local ?? '', machineOrigin: origin ?? 'none' };
}
