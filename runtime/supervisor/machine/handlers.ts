// Where the API and the broker of this machine find handlers: API_HANDLER_URL, or the handlers here and on the machines
// that have announced themselves. Pure.

/** Variables for the environment of the API and the broker. */
export interface Handlers {
  /** Private ports of all machines, or of this machine only. */
  readonly urls: string;
  readonly token: string;
  /**
   * Other machines are found in Postgres. As this machine announces its own private port, or `none`; null means `urls`
   * are all.
   */
  readonly machineOrigin: string | null;
}

/**
 * @param given `API_HANDLER_URL`, which overrides the announced machines.
 * @param local private port of this supervisor, if handlers run here.
 * @param origin the same for other machines; null if they do not reach it.
 */
export function handlersOf(given: string, local: string | null, origin: string | null): Omit<Handlers, 'token'> {
  if (given !== '') return { urls: given, machineOrigin: null };
  return { urls: local ?? '', machineOrigin: origin ?? 'none' };
}
