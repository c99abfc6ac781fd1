// The loop that delivers outbound work of the API process: claims due rows under a lease, one by one, and runs several
// at a time. Woken by NOTIFY, with polling as a fallback. Used by webhooks, drains and alerts; contains no SQL of
// theirs.
import type { Channel, Dependencies } from '../process/dependencies.ts';

/** A kind of work. */
export interface DueWork<Row extends { readonly id: string }> {
  /** For the log: "Deliveries of webhooks". */
  readonly what: string;
  readonly channel: Channel;
  readonly pollMs: number;
  /**
   * Claims the next due row; null: none is due.
   *
   * @param busy owners that have reached their limit of concurrent work.
   */
  claim(busy: readonly string[]): Promise<Row | null>;
  /** Owner of a row, so that a slow one does not block others. */
  ownerOf(row: Row): string;
  readonly ofOneMax: number;
  /** Does the work and records the result. */
  run(row: Row): Promise<void>;
  /** Called once an hour. */
  sweep?(): Promise<unknown>;
}

const AT_ONCE_MAX = 8;
const SWEEP_MS = 3_600_000;

/** Runs due work until the process ends. */
export async function runDueWork<Row extends { readonly id: string }>(
  { stopping, log, onNotify }: Pick<Dependencies, 'stopping' | 'log' | 'onNotify'>,
  work: DueWork<Row>,
): Promise<void> {
  const running = new Map<string, { readonly owner: string; readonly done: Promise<void> }>();
  let isWoken = false;
  let wake = (): void => {};
  const look = (): void => {
    isWoken = true;
    wake();
  };
  const unlisten = await onNotify(work.channel, look);
  stopping.addEventListener('abort', look);
  let sweptAt = -Infinity;
  while (!stopping.aborted) {
    isWoken = false;
    try {
      if (performance.now() - sweptAt > SWEEP_MS) {
        sweptAt = performance.now();
        await work.sweep?.();
      }
      while (running.size < AT_ONCE_MAX) {
        const row = await work.claim(
          busyOf(
            [...running.values()].map(({ owner }) => owner),
            work.ofOneMax,
          ),
        );
        if (row === null) break;
        const done = work
          .run(row)
          .catch((error: unknown) => log.error({ err: error, id: row.id }, `${work.what} not recorded`))
          .finally(() => {
            running.delete(row.id);
            look();
          });
        running.set(row.id, { owner: work.ownerOf(row), done });
      }
    } catch (error) {
      if (!stopping.aborted) log.error({ err: error }, `${work.what} not claimed`);
    }
    if (isWoken || stopping.aborted) continue;
    await new Promise<void>((go) => {
      const timer = setTimeout(go, work.pollMs);
      wake = () => {
        clearTimeout(timer);
        go();
      };
    });
    wake = () => {};
  }
  await Promise.allSettled([...running.values()].map(({ done }) => done));
  await unlisten().catch(() => {});
}

function busyOf(owners: readonly string[], ofOneMax: number): string[] {
  return [...new Set(owners)].filter((owner) => owners.filter((other) => other === owner).length >= ofOneMax);
}
