// Starts, suspends, stops and destroys the machines of held sandboxes, and saves their states. Every method but `save`
// must be called inside `inTurn` (leases.ts). Used by sandboxes.ts and the sweeper.
import { PlatformError } from '#core/errors.ts';
import { BUILD_RESOURCE, type SandboxState } from '#core/sandbox/operations.ts';
import { isSameOptions, withChange, type SandboxOptionsChange } from '#core/sandbox/options.ts';
import type { MachineSpec, SandboxBackend } from '../backends/backend.ts';
import type { AiAccess } from './ai-access.ts';
import { TRIES } from './connection.ts';
import type { Entry, Leases } from './leases.ts';
import type { SandboxRows } from './rows.ts';

/** Dependencies. */
interface MachineStatesDeps {
  readonly backend: SandboxBackend;
  readonly rows: SandboxRows;
  readonly leases: Leases;
  readonly ai: AiAccess | null;
}

export interface MachineStates {
  /** @throws {PlatformError} if another replica has taken the lease. */
  save(entry: Entry, state: SandboxState): Promise<void>;
  /** Changed options apply from the next start, so the machine is restarted. */
  change(entry: Entry, wanted: SandboxOptionsChange): Promise<void>;
  /** Build sandboxes get no AI token. */
  giveAi(entry: Entry): Promise<void>;
  /** Starts the machine from any state. */
  wake(entry: Entry): Promise<void>;
  suspend(entry: Entry): Promise<void>;
  stop(entry: Entry): Promise<void>;
  /** Stops the machine, whatever its saved state is. */
  halt(entry: Entry): Promise<void>;
  destroy(entry: Entry): Promise<void>;
}

export function createMachineStates({ backend, rows, leases, ai }: MachineStatesDeps): MachineStates {
  const specOf = ({ key, place, options }: Entry): MachineSpec => ({ key, place, options });

  async function save(entry: Entry, state: SandboxState): Promise<void> {
    if (!(await rows.save(entry.key, state, entry.lastActiveAt))) throw taken(entry);
    entry.state = state;
  }

  function taken(entry: Entry): PlatformError {
    leases.forget(entry);
    return new PlatformError('sandbox_unavailable', { reason: 'another replica of the service holds it now' });
  }

  async function giveAi({ key, place, options }: Entry): Promise<void> {
    if (place.resource !== BUILD_RESOURCE && options.ai !== false) await ai?.refresh(key);
  }

  async function halt(entry: Entry): Promise<void> {
    await ai?.end(entry.key);
    await backend.stop(entry.key);
    await save(entry, 'stopped');
  }

  async function stop(entry: Entry): Promise<void> {
    // A sandbox that never ran does not have to be stopped.
    if (entry.state === 'creating' || entry.state === 'stopped') return;
    await halt(entry);
  }

  return {
    save,
    async change(entry, wanted) {
      const options = withChange(entry.options, wanted);
      if (isSameOptions(options, entry.options)) return;
      // The machine is stopped first: if a later step fails, it starts with its old options.
      await stop(entry);
      if (!(await rows.saveOptions(entry.key, options))) throw taken(entry);
      entry.options = options;
    },
    giveAi,
    async wake(entry) {
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
          if (attempt < TRIES && leases.has(entry)) continue;
          await save(entry, 'error').catch(() => {});
          throw error;
        }
      }
    },
    async suspend(entry) {
      if (entry.state !== 'running') return;
      await ai?.withdraw(entry.key);
      await backend.suspend(entry.key);
      const state = await backend.state(entry.key);
      await save(entry, state === 'suspended' || state === 'stopped' ? state : 'error');
    },
    stop,
    halt,
    async destroy(entry) {
      entry.destroyed.abort();
      await ai?.end(entry.key);
      try {
        await backend.destroy(entry.key);
        await rows.remove(entry.key);
      } finally {
        // After a failure the row remains, for the next caller.
        leases.forget(entry);
      }
    },
  };
}
