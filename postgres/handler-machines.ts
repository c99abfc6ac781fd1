// Private ports of all machines with handlers, as they have announced themselves. Used by the API process and the
// broker where `API_HANDLER_URL` does not name them.
import type { HandlerAddresses } from '#core/process/handler-addresses.ts';
import type { Statements } from './connection.ts';

interface HandlerMachinesDeps {
  readonly sql: Statements;
  /** Origins on this machine; they are used before Postgres was read, too. */
  readonly local: readonly string[];
  /** As this machine has announced its own private port; null: it is not reachable for others. */
  readonly ownOrigin: string | null;
  /** Postgres is unavailable: the machines of the last time are used. */
  readonly onTrouble: (error: unknown) => void;
  /** For tests. */
  readonly now?: () => number;
}

/** The next release sees machines that came or went. */
const KEPT_MS = 1000;

/** Reads them again when they are asked for, at most once a second. Lost and draining machines are not among them. */
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
