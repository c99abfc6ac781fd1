// One release of a project at a time, in all processes: what moves pointers or changes databases of a project runs
// under its lock. Held by a transaction, so that it goes with whoever held it.
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';

/** First half of the lock's key: any number that nobody else uses. */
const LOCK_CLASS = 752_834_213;
const LOOK_MS = 100;

/**
 * Runs work while nobody else releases, promotes or removes anything of the project.
 *
 * @param waitMs for how long others are waited for
 * @throws {ApiError} `unavailable` when they take longer
 */
export async function withProject<Result>(
  { sql, turns }: Pick<Dependencies, 'sql' | 'turns'>,
  projectId: string,
  waitMs: number,
  work: () => Promise<Result>,
): Promise<Result> {
  const until = performance.now() + waitMs;
  return turns.inTurn(`project:${projectId}`, async () => {
    for (;;) {
      let end: { readonly result: Result } | { readonly error: unknown } | null = null;
      try {
        await turns.holding(() =>
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
        // The work is done, whatever became of the connection that held the lock meanwhile.
        end ??= { error };
      }
      // Written by a callback, which the type checker cannot know.
      const ended = end as { readonly result: Result } | { readonly error: unknown } | null;
      if (ended !== null) {
        if ('error' in ended) throw ended.error;
        return ended.result;
      }
      if (performance.now() > until)
        throw new ApiError('unavailable', { reason: 'Something else of this project is being released: try again' });
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  });
}
