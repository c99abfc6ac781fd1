// Periodic work on sandboxes: suspends, stops and destroys idle ones, destroys machines without a row, renews leases
// and AI tokens. Started by sandboxes.ts.
import type { SandboxBackend } from '../backends/backend.ts';
import { inTurn, type Leases } from './leases.ts';
import type { MachineStates } from './machine-states.ts';
import { repeat } from './repeat.ts';
import type { IdleTimes, SandboxRows } from './rows.ts';

/** How often running sandboxes are checked for expiring tokens. */
const AI_LOOK_MS = 30_000;

/** Dependencies. */
interface SweeperDeps {
  readonly backend: SandboxBackend;
  readonly rows: SandboxRows;
  readonly leases: Leases;
  readonly machines: MachineStates;
  readonly times: IdleTimes;
  readonly leaseMs: number;
  readonly sweepMs: number;
  readonly hasAi: boolean;
  report(message: string): void;
}

/** @returns a function that stops it, and resolves when the current runs have finished. */
export function startSweeper(deps: SweeperDeps): () => Promise<void> {
  const { backend, rows, leases, machines, times, leaseMs, sweepMs, hasAi, report } = deps;

  /** Runs a due action on a sandbox that this replica can claim. */
  async function tend(key: string, what: 'suspend' | 'stop' | 'destroy'): Promise<void> {
    const entry = await leases.claimKey(key);
    if (entry === null) return;
    if (what !== 'destroy' && (entry.holds > 0 || Date.now() - entry.lastActiveAt < times.idleMs)) return;
    await inTurn(entry, async () => {
      if (what === 'destroy') return machines.destroy(entry);
      // A call arrived in the meantime.
      if (entry.holds > 0) return;
      if (what === 'suspend') {
        // The row was left by a dead replica, so only the machine itself knows its state.
        if (entry.state === 'creating' || (await backend.state(key)) === 'absent') return machines.destroy(entry);
        await machines.suspend(entry);
      } else await machines.halt(entry);
      if (entry.holds === 0) await leases.release(entry);
    });
  }

  async function sweep(): Promise<void> {
    // Rows of running sandboxes may lag behind their last call.
    for (const entry of leases.all())
      if (entry.state === 'running') await rows.save(entry.key, entry.state, entry.lastActiveAt);
    for (const { key, what } of await rows.due())
      await tend(key, what).catch((error: unknown) => report(`${what} of ${key}: ${(error as Error).message}`));
    // A row is written before its machine is created, and deleted after its machine was deleted.
    const keys = await backend.keys();
    const known = await rows.known(keys);
    for (const key of keys) {
      if (known.has(key)) continue;
      report(`machine ${key} belongs to no sandbox: destroyed`);
      await backend.destroy(key).catch((error: unknown) => report(`destroy of ${key}: ${(error as Error).message}`));
    }
    const sizes = await backend.sizes?.();
    if (sizes !== undefined) await rows.saveSizes(sizes);
  }

  async function refreshAi(): Promise<void> {
    await Promise.all(
      [...leases.all()].map((entry) =>
        inTurn(entry, async () => {
          if (entry.state === 'running' && !entry.destroyed.signal.aborted) await machines.giveAi(entry);
        }),
      ),
    );
  }

  const often = (ms: number, what: string, work: () => Promise<void>): (() => Promise<void>) =>
    repeat(ms, work, (error) => report(`${what}: ${error.message}`));
  const ends = [often(sweepMs, 'sweep', sweep), often(Math.max(50, leaseMs / 3), 'leases', leases.renew)];
  if (hasAi) ends.push(often(AI_LOOK_MS, 'AI tokens', refreshAi));
  return async () => {
    await Promise.all(ends.map((end) => end()));
  };
}
