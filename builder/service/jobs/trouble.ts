// What errors of Postgres mean for a builder: away is waited for, everything else is told.
import { setTimeout as pause } from 'node:timers/promises';

/** SQLSTATE classes and codes of the library that pass when the server is back, or less busy. */
const PASSING =
  /^(?:08|53|57P|40|55P03|58)|^(?:CONNECT|CONNECTION_(?!ENDED)|ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOST|ENET|EAI)/;

/** Whether a statement failed because Postgres is away or overloaded, so that it is worth another try. */
export function isAway(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && PASSING.test(code);
}

const [AGAIN_MS_LEAST, AGAIN_MS_MAX] = [50, 1000];

/**
 * Does something with Postgres as often as it takes while it is away. What it does must bear to be done twice: a commit
 * may go unheard.
 *
 * @param signal ends it between two tries, with its reason.
 */
export async function untilBack<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error)) throw error;
    }
    await pause(Math.min(AGAIN_MS_MAX, AGAIN_MS_LEAST * 2 ** Math.min(failures, 10)), undefined, {
      ...(signal !== undefined && { signal }),
    });
  }
}
