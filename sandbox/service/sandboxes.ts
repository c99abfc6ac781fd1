// The sandboxes of a platform: created and resumed by calls; suspended, stopped and destroyed when idle. Used by the
// service's routes and by `platform dev`; rows store the state, a backend runs the machines. Calls for one sandbox are
// serialized here, and a lease excludes other replicas.
import { PlatformError } from '#core/errors.ts';
import { BUILD_RESOURCE, type SandboxPlace, type SandboxState } from '#core/sandbox/operations.ts';
import {
  isSameOptions,
  MACHINE_SIZES,
  NO_OPTIONS,
  withChange,
  type MachineSize,
  type SandboxOptions,
  type SandboxOptionsChange,
  type StoredOptions,
} from '#core/sandbox/options.ts';
import type { MachineSpec, SandboxBackend } from '../backends/backend.ts';
import { heldElsewhere, holderIn, type HeldSandbox, type Sandboxes } from '../routes/held-sandboxes.ts';
import type { AiAccess } from './ai-access.ts';
import { connect, TRIES, type Reached } from './connection.ts';
import { createCopies } from './copies.ts';
import { repeat } from './repeat.ts';
import { infoOf, type IdleTimes, type SandboxRow, type SandboxRows } from './rows.ts';

/** Dependencies. */
interface SandboxesDeps {
  readonly backend: SandboxBackend;
  readonly rows: SandboxRows;
  readonly times: IdleTimes;
  readonly leaseMs: number;
  readonly sweepMs: number;
  readonly perProjectMax: number;
  /** The largest machine size that may be requested; without it, any. */
  readonly machineMax?: MachineSize;
  /** Without this access, sandboxes have no AI gateway. */
  readonly ai?: AiAccess | null;
  report(message: string): void;
}

/** A sandbox held by this replica. */
interface Entry {
  readonly key: string;
  readonly place: SandboxPlace;
  state: SandboxState;
  options: StoredOptions;
  lastActiveAt: number;
  holds: number;
  /** Aborts the calls that run in the sandbox. */
  readonly destroyed: AbortController;
  /** The last operation on its machine. */
  work: Promise<unknown>;
}

/** How often running sandboxes are checked for expiring tokens. */
const AI_LOOK_MS = 30_000;

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
  const entries = new Map<string, Entry>();
  /** Claims in progress, shared by concurrent callers. */
  const claims = new Map<string, Promise<Entry>>();
  let isClosed = false;

  /** Dependencies of connections. */
  const reached: Reached<Entry> = { backend, inTurn, wake };
  const nameOf = ({ project, resource, id }: SandboxPlace): string => `${project}/${resource}/${id}`;
  const specOf = ({ key, place, options }: Entry): MachineSpec => ({ key, place, options });

  function remember(row: SandboxRow): Entry {
    const known = entries.get(nameOf(row.place));
    if (known?.key === row.key) return known;
    const { key, place, state, options, lastActiveAt } = row;
    const entry: Entry = {
      key,
      place,
      state,
      options,
      lastActiveAt,
      holds: 0,
      destroyed: new AbortController(),
      work: Promise.resolve(),
    };
    entries.set(nameOf(place), entry);
    return entry;
  }

  function forget(entry: Entry): void {
    if (entries.get(nameOf(entry.place)) === entry) entries.delete(nameOf(entry.place));
    ai?.forget(entry.key);
  }

  /** @throws {PlatformError} {@link heldElsewhere} */
  function claim(place: SandboxPlace): Promise<Entry> {
    const name = nameOf(place);
    const known = entries.get(name);
    if (known !== undefined) return Promise.resolve(known);
    const running = claims.get(name);
    if (running !== undefined) return running;
    const claiming = rows
      .claim(place)
      .then((found) => {
        if (found.is === 'held') throw heldElsewhere(found);
        if (found.is === 'ours') return remember(found.row);
        throw new PlatformError('sandbox_limit', {
          what: `Another sandbox of ${place.project}`,
          limit:
            found.is === 'full'
              ? `${perProjectMax} (SANDBOX_PER_PROJECT_MAX)`
              : 'the storage of its organization, which is full',
        });
      })
      .finally(() => claims.delete(name));
    claims.set(name, claiming);
    return claiming;
  }

  /** Serializes the operations on a machine. */
  function inTurn<Result>(entry: Entry, work: () => Promise<Result>): Promise<Result> {
    const done = entry.work.then(work);
    entry.work = done.catch(() => {});
    return done;
  }

  async function save(entry: Entry, state: SandboxState): Promise<void> {
    if (!(await rows.save(entry.key, state, entry.lastActiveAt))) throw taken(entry);
    entry.state = state;
  }

  function taken(entry: Entry): PlatformError {
    forget(entry);
    return new PlatformError('sandbox_unavailable', { reason: 'another replica of the service holds it now' });
  }

  /** Changed options apply from the next start, so the machine is restarted. Call it inside `inTurn`. */
  async function change(entry: Entry, wanted: SandboxOptionsChange): Promise<void> {
    const options = withChange(entry.options, wanted);
    if (isSameOptions(options, entry.options)) return;
    // Stopped first: if a later step fails, it starts with its old options.
    await stop(entry);
    if (!(await rows.saveOptions(entry.key, options))) throw taken(entry);
    entry.options = options;
  }

  /** Build sandboxes get no AI token. */
  const giveAi = async ({ key, place, options }: Entry): Promise<void> => {
    if (place.resource !== BUILD_RESOURCE && options.ai !== false) await ai?.refresh(key);
  };

  /** Starts the machine from any state. Call it inside `inTurn`. */
  async function wake(entry: Entry): Promise<void> {
    if (entry.destroyed.signal.aborted) throw new PlatformError('sandbox_destroyed', { id: entry.place.id });
    if (entry.state === 'running') return giveAi(entry);
    for (let attempt = 1; ; attempt++) {
      try {
        const isNew = entry.state === 'creating' || (await backend.state(entry.key)) === 'absent';
        if (isNew) await backend.create(specOf(entry));
        else await backend.resume(specOf(entry));
        await save(entry, 'running');
        ai?.forget(entry.key);
        return await giveAi(entry);
      } catch (error) {
        if (attempt < TRIES && entries.get(nameOf(entry.place)) === entry) continue;
        await save(entry, 'error').catch(() => {});
        throw error;
      }
    }
  }

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
        if (wanted !== null) await change(entry, wanted);
        if (snapshot !== null && entry.state === 'creating') await copies.begin(entry, snapshot);
        await wake(entry);
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

  async function suspend(entry: Entry): Promise<void> {
    if (entry.state !== 'running') return;
    await ai?.withdraw(entry.key);
    await backend.suspend(entry.key);
    const state = await backend.state(entry.key);
    await save(entry, state === 'suspended' || state === 'stopped' ? state : 'error');
  }

  async function stop(entry: Entry): Promise<void> {
    // A sandbox that never ran does not have to be stopped.
    if (entry.state === 'creating' || entry.state === 'stopped') return;
    await ai?.end(entry.key);
    await backend.stop(entry.key);
    await save(entry, 'stopped');
  }

  async function destroyMachine(entry: Entry): Promise<void> {
    entry.destroyed.abort();
    await ai?.end(entry.key);
    try {
      await backend.destroy(entry.key);
      await rows.remove(entry.key);
    } finally {
      // After a failure the row remains, for the next caller.
      forget(entry);
    }
  }

  async function destroy(place: SandboxPlace): Promise<void> {
    // Abort calls now, instead of waiting for queued operations.
    entries.get(nameOf(place))?.destroyed.abort();
    await own(place, destroyMachine);
  }

  /** Releases the lease when unused here, so that another replica can take the next call. */
  async function freeBuffer(entry: Entry): Promise<void> {
    forget(entry);
    await rows.release(entry.key);
  }

  const copies = createCopies<Entry>({
    backend,
    rows,
    claim,
    inTurn,
    own,
    save,
    suspend,
    wake,
    destroy: destroyMachine,
    freeBuffer,
  });

  /** Runs a due action on a sandbox that this replica can claim. */
  async function tend(key: string, what: 'suspend' | 'stop' | 'destroy'): Promise<void> {
    const row = await rows.claimKey(key);
    if (row === null) return;
    const entry = remember(row);
    if (what !== 'destroy' && (entry.holds > 0 || Date.now() - entry.lastActiveAt < times.idleMs)) return;
    await inTurn(entry, async () => {
      if (what === 'destroy') return destroyMachine(entry);
      // A call arrived in the meantime.
      if (entry.holds > 0) return;
      if (what === 'suspend') {
        // Left over from a dead replica; only the machine knows its state.
        if (entry.state === 'creating' || (await backend.state(key)) === 'absent') return destroyMachine(entry);
        await suspend(entry);
      } else {
        await ai?.end(key);
        await backend.stop(key);
        await save(entry, 'stopped');
      }
      if (entry.holds === 0) await freeBuffer(entry);
    });
  }

  async function sweep(): Promise<void> {
    // Rows of running sandboxes may lag behind their last call.
    for (const entry of entries.values())
      if (entry.state === 'running') await rows.save(entry.key, entry.state, entry.lastActiveAt);
    for (const { key, what } of await rows.due())
      await tend(key, what).catch((error: unknown) => report(`${what} of ${key}: ${(error as Error).message}`));
    // A row is written before its machine is created, and deleted after the machine is.
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

  async function renew(): Promise<void> {
    const ours = [...entries.values()];
    const kept = new Set(await rows.renew(ours.map(({ key }) => key)));
    for (const entry of ours) if (!kept.has(entry.key)) forget(entry);
  }

  async function refreshAi(): Promise<void> {
    await Promise.all(
      [...entries.values()].map((entry) =>
        inTurn(entry, async () => {
          if (entry.state === 'running' && !entry.destroyed.signal.aborted) await giveAi(entry);
        }),
      ),
    );
  }

  const often = (ms: number, what: string, work: () => Promise<void>): (() => Promise<void>) =>
    repeat(ms, work, (error) => report(`${what}: ${error.message}`));
  const ends = [often(sweepMs, 'sweep', sweep), often(Math.max(50, leaseMs / 3), 'leases', renew)];
  if (ai !== null) ends.push(often(AI_LOOK_MS, 'AI tokens', refreshAi));

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
      const entry = entries.get(nameOf(place));
      return infoOf(entry === undefined ? row : { ...row, state: entry.state, lastActiveAt: entry.lastActiveAt });
    },
    async list(within, page) {
      const found = await rows.list(within, { ...page, limit: page.limit + 1 });
      const items = found.slice(0, page.limit).map(infoOf);
      return { items, cursor: found.length > page.limit ? (items.at(-1)?.id ?? null) : null };
    },
    async suspend(place) {
      await own(place, suspend);
    },
    async stop(place) {
      await own(place, stop);
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
      const all = [...entries.values()];
      return { held: all.length, running: all.filter(({ state }) => state === 'running').length };
    },
    async close() {
      isClosed = true;
      await Promise.all(ends.map((end) => end()));
      await Promise.all(
        [...entries.values()].map(async (entry) => {
          await entry.work;
          await rows.save(entry.key, entry.state, entry.lastActiveAt).catch(() => {});
          await rows.release(entry.key).catch(() => {});
        }),
      );
      entries.clear();
      await backend.close();
      await rows.close();
    },
  };
}
