// The loop behind what the API process sends to others: claims what is due under a lease, one by one, and works on
// several at a time. Woken by NOTIFY, and by a poll besides. Used by webhooks, drains and alerts; knows no tables.
import type { Channel, Dependencies } from '../process/dependencies.ts';

/** What is due. */
export interface DueWork<Row extends { readonly id: string }> {
  /** For the log: "Deliveries of webhooks". */
  readonly what: string;
  readonly channel: Channel;
  readonly pollMs: number;
  /**
   * Claims what is due next; null: nothing is.
   *
   * @param busy owners that have as many under way as they may.
   */
  claim(busy: readonly string[]): Promise<Row | null>;
  /** Whose it is, so that one that is slow does not hold up the others. */
  ownerOf(row: Row): string;
  readonly ofOneMax: number;
  /** Works on it, and writes down what came of it. */
  run(row: Row): Promise<void>;
  /** Once an hour. */
  sweep?(): Promise<unknown>;
}

const AT_ONCE_MAX = 8;
const SWEEP_MS = 3_600_000;

/** Works on what is due until the process ends. */
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
