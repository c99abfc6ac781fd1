// Connects to the agent of a sandbox. A lost machine is started again with its files.
import type { Duplex } from 'node:stream';
import { PlatformError } from '#core/errors.ts';
import type { SandboxPlace, SandboxState } from '#core/sandbox/operations.ts';
import type { SandboxBackend } from '../backends/backend.ts';

/** Maximum start attempts within one call. */
export const TRIES = 2;

/** The sandbox to connect to. */
interface Reachable {
  readonly key: string;
  readonly place: SandboxPlace;
  state: SandboxState;
  readonly destroyed: AbortController;
}

/** Dependencies, provided by sandboxes.ts. */
export interface Reached<Entry extends Reachable> {
  readonly backend: Pick<SandboxBackend, 'connect' | 'state'>;
  inTurn<Result>(entry: Entry, work: () => Promise<Result>): Promise<Result>;
  /** Starts the machine from any state. Call it inside `inTurn`. */
  wake(entry: Entry): Promise<void>;
}

/** Connects to the machine's agent. The connection ends with the sandbox. @throws {PlatformError} */
export async function connect<Entry extends Reachable>(entry: Entry, reached: Reached<Entry>): Promise<Duplex> {
  const { backend, inTurn } = reached;
  let connection: Duplex;
  try {
    connection = await backend.connect(entry.key);
  } catch {
    connection = await inTurn(entry, () => connectAgain(entry, reached));
  }
  const { signal } = entry.destroyed;
  const end = (): void => void connection.destroy(destroyed(entry));
  signal.addEventListener('abort', end);
  connection.once('close', () => signal.removeEventListener('abort', end));
  if (signal.aborted) end();
  return connection;
}

/** Starts a machine that does not run, or that exits while it is resumed: it may have lost its attached service. */
async function connectAgain<Entry extends Reachable>(entry: Entry, { backend, wake }: Reached<Entry>): Promise<Duplex> {
  for (let attempt = 1; ; attempt++) {
    if (entry.destroyed.signal.aborted) throw destroyed(entry);
    if ((await backend.state(entry.key)) !== 'running') {
      entry.state = 'error';
      await wake(entry);
    }
    try {
      return await backend.connect(entry.key);
    } catch (error) {
      if (attempt === TRIES || (await backend.state(entry.key)) === 'running') throw error;
    }
  }
}

function destroyed({ place }: Reachable): PlatformError {
  return new PlatformError('sandbox_destroyed', { id: place.id });
}
