// A lock per project across all processes: everything that moves pointers or migrates databases of a project runs under
// it. The lock belongs to a transaction, so it is released when its process dies.
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';

/** First half of the lock's key: an arbitrary number, not used elsewhere. */
const LOCK_CLASS = 752_834_213;
const LOOK_MS = 100;

/**
 * Runs work under the project's lock.
 *
 * @param waitMs how long to wait for the lock
 * @throws {ApiError} `unavailable` on a timeout
 */
export async function withProject<Result>(
  { sql, mutex }: Pick<Dependencies, 'sql' | 'mutex'>,
  projectId: string,
  waitMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const until = performance.now() + waitMs;
  return mutex.exclusive(`project:${projectId}`, async () => {
    for (;;) {
      let end: { readonly result: Result } | { readonly error: unknown } | null = null;
      try {
        await mutex.withConnection(() =>
          sql.begin(async (tx) => {
            const [row] = await tx<{ held: boolean }[]>`
            SELECT pg_try_advisory_xact_lock(${LOCK_CLASS}, hashtext(${projectId})) AS held`;
            if (row?.held !== true) return;
            try {
              end = { result: await work() };
            } catch (error) {
              end = { error };
            }
          }),
        );
      } catch (error) {
        // The work is done, even if the connection that held the lock has been lost.
        end ??= { error };
      }
      // The type checker does not see that a callback assigns `end`.
      const ended = end as { readonly result: Result } | { readonly error: unknown } | null;
      if (ended !== null) {
        if ('error' in ended) throw ended.error;
        return ended.result;
      }
      if (performance.now() > until)
        throw new ApiError('unavailable', { reason: 'Another release of this project is running: try again' });
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  });
}
