// Classifies Postgres errors for a builder: it retries while Postgres is unavailable, and reports all other errors.
import { setTimeout as pause } from 'node:timers/promises';

/** SQLSTATE classes and library codes of temporary errors. */
const PASSING =
  /^(?:08|53|57P|40|55P03|58)|^(?:CONNECT|CONNECTION_(?!ENDED)|ECONN|EPIPE|ENOENT|ETIMEDOUT|EHOST|ENET|EAI)/;

/** Whether a statement failed because Postgres is unavailable or overloaded, so that it should be retried. */
export function isUnavailable(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && PASSING.test(code);
}

const [AGAIN_MS_LEAST, AGAIN_MS_MAX] = [50, 1000];

/**
 * Retries a Postgres operation while Postgres is unavailable. The operation must be idempotent: a commit may succeed
 * without a response.
 *
 * @param signal stops the retries between two attempts, with its reason.
 */
export async function retryUntilAvailable<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
    }
    await pause(Math.min(AGAIN_MS_MAX, AGAIN_MS_LEAST * 2 ** Math.min(failures, 10)), undefined, {
      ...(signal !== undefined && { signal }),
    });
  }
}
