// The sandboxes of a platform: created and resumed by calls; suspended, stopped and destroyed when idle. Used by the
// service's routes and by `platform dev`; rows store the state, a backend runs the machines. Connects leases, machine
// states, snapshots and the sweeper.
import { PlatformError } from '#core/errors.ts';
import type { SandboxPlace } from '#core/sandbox/operations.ts';
import {
  MACHINE_SIZES,
  NO_OPTIONS,
  withChange,
  type MachineSize,
  type SandboxOptions,
  type SandboxOptionsChange,
} from '#core/sandbox/options.ts';
import type { SandboxBackend } from '../backends/backend.ts';
import { holderIn, type HeldSandbox, type Sandboxes } from '../routes/held-sandboxes.ts';
import type { AiAccess } from './ai-access.ts';
import { connect, type Reached } from './connection.ts';
import { createCopies } from './copies.ts';
import { createLeases, inTurn, type Entry } from './leases.ts';
import { createMachineStates } from './machine-states.ts';
import { infoOf, type IdleTimes, type SandboxRows } from './rows.ts';
import { startSweeper } from './sweeper.ts';

/** Dependencies. */
interface SandboxesDeps {
  readonly backend: SandboxBackend;
  readonly rows: SandboxRows;
  readonly times: IdleTimes;
  readonly leaseMs: number;
  readonly sweepMs: number;
  readonly perProjectMax: number;
  /** The largest machine size that may be requested; if undefined, any size. */
  readonly machineMax?: MachineSize;
  /** Without this access, sandboxes have no AI gateway. */
  readonly ai?: AiAccess | null;
  report(message: string): void;
}

export interface RunningSandboxes extends Sandboxes {
  /** Counters for operators. */
  figures(): { readonly held: number; readonly running: number };
  close(): Promise<void>;
}

export function startSandboxes(deps: SandboxesDeps): RunningSandboxes {
  const {
    backend,
    rows,
    times,
    leaseMs,
    sweepMs,
    perProjectMax,
    machineMax = MACHINE_SIZES.at(-1)!,
    ai = null,
    report,
  } = deps;
  const leases = createLeases({ rows, perProjectMax, forgotten: (key) => ai?.forget(key) });
  const { find, claim } = leases;
  const machines = createMachineStates({ backend, rows, leases, ai });
  let isClosed = false;
  /** Dependencies of connections. */
  const reached: Reached<Entry> = { backend, inTurn, wake: machines.wake };

  function check(options: SandboxOptions): void {
    const { machine } = options;
    if (options.ai === true && ai === null)
      throw new PlatformError('sandbox_option_refused', {
        reason: 'no AI gateway is configured for sandboxes (SANDBOX_AI_URL): leave ai out',
      });
    if (machine !== null && MACHINE_SIZES.indexOf(machine) > MACHINE_SIZES.indexOf(machineMax))
      throw new PlatformError('sandbox_option_refused', {
        reason: `machine "${machine}" is larger than the operator allows, which is "${machineMax}" (SANDBOX_MACHINE_MAX)`,
      });
    backend.check(options);
  }

  async function hold(
    place: SandboxPlace,
    wanted: SandboxOptionsChange | null = null,
    key: string | null = null,
  ): Promise<HeldSandbox> {
    if (isClosed) throw new PlatformError('sandbox_unavailable', { reason: 'the service is stopping' });
    if (wanted !== null) check(withChange(NO_OPTIONS, wanted));
    const snapshot = wanted?.snapshot ?? null;
    if (snapshot !== null) backend.checkCopy();
    const entry = await claim(place);
    if (key !== null && entry.key !== key) throw new PlatformError('sandbox_destroyed', { id: place.id });
    entry.holds++;
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      entry.holds--;
      entry.lastActiveAt = Date.now();
    };
    try {
      entry.lastActiveAt = Date.now();
      await inTurn(entry, async () => {
        if (wanted !== null) await machines.change(entry, wanted);
        if (snapshot !== null && entry.state === 'creating') await copies.begin(entry, snapshot);
        await machines.wake(entry);
      });
    } catch (error) {
      release();
      throw error;
    }
    return { key: entry.key, connect: () => connect(entry, reached), release };
  }

  /** For operations that need the lease: runs `work` inside `inTurn`. */
  async function own<Result>(place: SandboxPlace, work: (entry: Entry) => Promise<Result>): Promise<Result | null> {
    if ((await rows.find(place)) === null) return null;
    const entry = await claim(place);
    return inTurn(entry, () => work(entry));
  }

  async function destroy(place: SandboxPlace): Promise<void> {
    // Abort calls now, instead of waiting for queued operations.
    find(place)?.destroyed.abort();
    await own(place, machines.destroy);
  }

  const copies = createCopies<Entry>({
    backend,
    rows,
    claim,
    inTurn,
    own,
    save: machines.save,
    suspend: machines.suspend,
    wake: machines.wake,
    destroy: machines.destroy,
    release: leases.release,
  });

  const endSweeper = startSweeper({
    backend,
    rows,
    leases,
    machines,
    times,
    leaseMs,
    sweepMs,
    hasAi: ai !== null,
    report,
  });

  return {
    hold: (place, change) => hold(place, change),
    async holdKey(place, key) {
      // Check first, so that a read does not create a sandbox.
      if ((await rows.find(place))?.key !== key) throw new PlatformError('sandbox_destroyed', { id: place.id });
      return hold(place, null, key);
    },
    async info(place) {
      const row = await rows.find(place);
      if (row === null) return null;
      const entry = find(place);
      return infoOf(entry === undefined ? row : { ...row, state: entry.state, lastActiveAt: entry.lastActiveAt });
    },
    async list(within, page) {
      const found = await rows.list(within, { ...page, limit: page.limit + 1 });
      const items = found.slice(0, page.limit).map(infoOf);
      return { items, cursor: found.length > page.limit ? (items.at(-1)?.id ?? null) : null };
    },
    async suspend(place) {
      await own(place, machines.suspend);
    },
    async stop(place) {
      await own(place, machines.stop);
    },
    async resume(place, wanted) {
      const held = await hold(place, wanted);
      held.release();
    },
    snapshot: copies.snapshot,
    fork: copies.fork,
    listSnapshots: copies.listSnapshots,
    deleteSnapshot: copies.deleteSnapshot,
    destroy,
    async destroyProject(project) {
      let elsewhere: unknown = null;
      for (const place of await rows.placesOf(project))
        await destroy(place).catch((error: unknown) => {
          if (holderIn(error) === null) throw error;
          elsewhere = error;
        });
      if (elsewhere !== null) throw elsewhere;
    },
    figures() {
      const all = [...leases.all()];
      return { held: all.length, running: all.filter(({ state }) => state === 'running').length };
    },
    async close() {
      isClosed = true;
      await endSweeper();
      await Promise.all(
        [...leases.all()].map(async (entry) => {
          await entry.work;
          await rows.save(entry.key, entry.state, entry.lastActiveAt).catch(() => {});
          await rows.release(entry.key).catch(() => {});
        }),
      );
      leases.clear();
      await backend.close();
      await rows.close();
    },
  };
}
