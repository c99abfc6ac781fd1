// The loop that delivers outbound work of the API process: claims due rows with a lease, one by one, and delivers
// several concurrently. Woken by NOTIFY, with polling as a fallback. Used by webhooks, drains and alerts, which contain
// the SQL.
import { runRounds } from '#core/process/rounds.ts';
import type { Channel, Dependencies } from '../process/dependencies.ts';

/** A kind of work. */
interface DueWork<Row extends { readonly id: string }> {
  /** Name of the kind for the log: "Deliveries of webhooks". */
  readonly what: string;
  readonly channel: Channel;
  readonly pollMs: number;
  /**
   * Claims the next due row; null if none is due.
   *
   * @param busy owners that have reached their limit of concurrent work.
   */
  claim(busy: readonly string[]): Promise<Row | null>;
  /** Owner of a row, so that a slow owner does not block others. */
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
  deps: Pick<Dependencies, 'stopping' | 'log' | 'onNotify'>,
  work: DueWork<Row>,
): Promise<void> {
  const running = new Map<string, { readonly owner: string; readonly done: Promise<void> }>();
  let wake = (): void => {};
  let sweptAt = -Infinity;
  const listen = (look: () => void): Promise<() => Promise<void>> => deps.onNotify(work.channel, (wake = look));
  await runRounds(deps, { failure: `${work.what} not claimed`, pollMs: work.pollMs, listen }, async () => {
    if (performance.now() - sweptAt > SWEEP_MS) {
      sweptAt = performance.now();
      await work.sweep?.();
    }
    while (running.size < AT_ONCE_MAX) {
      const owners = [...running.values()].map(({ owner }) => owner);
      const row = await work.claim(busyOf(owners, work.ofOneMax));
      if (row === null) return;
      const done = work
        .run(row)
        .catch((error: unknown) => deps.log.error({ err: error, id: row.id }, `${work.what} not recorded`))
        .finally(() => {
          running.delete(row.id);
          wake();
        });
      running.set(row.id, { owner: work.ownerOf(row), done });
    }
  });
  await Promise.allSettled([...running.values()].map(({ done }) => done));
}

function busyOf(owners: readonly string[], ofOneMax: number): string[] {
  return [...new Set(owners)].filter((owner) => owners.filter((other) => other === owner).length >= ofOneMax);
}
