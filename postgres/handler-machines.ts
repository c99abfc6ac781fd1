// Private ports of all machines with handlers, as the machines announced them. Used by the API process and the broker
// if `API_HANDLER_URL` does not list these ports.
import type { HandlerAddresses } from '#core/process/handler-addresses.ts';
import type { Statements } from './connection.ts';

interface HandlerMachinesDeps {
  readonly sql: Statements;
  /** Origins on this machine, also used before Postgres was read. */
  readonly local: readonly string[];
  /** Private port of this machine, as announced; null means that other machines cannot reach it. */
  readonly ownOrigin: string | null;
  /** Postgres is unavailable: the last known machines are used. */
  readonly onTrouble: (error: unknown) => void;
  /** For tests. */
  readonly now?: () => number;
}

/** How long the list is cached: the next release reads it again. */
const KEPT_MS = 1000;

/** Reads the machines again on request, at most once a second. Lost and draining machines are left out. */
export function openHandlerMachines({
  sql,
  local,
  ownOrigin,
  onTrouble,
  now = () => performance.now(),
}: HandlerMachinesDeps): HandlerAddresses {
  let kept: readonly string[] = local;
  let keptUntil = -Infinity;
  let reading: Promise<readonly string[]> | null = null;

  async function read(): Promise<readonly string[]> {
    try {
      const rows = await sql.all<{ private_origin: string; status: string }>(
        'SELECT private_origin, status FROM binding.handler_machine ORDER BY private_origin',
      );
      const own = rows.find((row) => row.private_origin === ownOrigin);
      const others = rows.filter((row) => row !== own && row.status === 'up').map((row) => row.private_origin);
      const isOwnLeft = own !== undefined && own.status !== 'up';
      kept = [...(isOwnLeft ? [] : local), ...others];
    } catch (error) {
      onTrouble(error);
    }
    keptUntil = now() + KEPT_MS;
    return kept;
  }

  return {
    find() {
      if (now() < keptUntil) return Promise.resolve(kept);
      reading ??= read().finally(() => (reading = null));
      return reading;
    },
  };
}
