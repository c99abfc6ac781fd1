// Decides which servers run. Each deployment has one server, which is started for the first request, stopped when it is
// idle or room is needed, and not restarted for a while when it fails. main.ts passes the engines' requests.
import { PlatformError } from '#core/errors.ts';
import type { SsrLimits } from '#core/limits.ts';
import type { ServerSpec } from '#core/ssr/protocol.ts';
import type { ServerProcess } from './server-process.ts';

/** An engine that holds a server for as long as it has requests for it. */
type Holder = object;

const refusals = ['server_start_failed', 'server_unavailable', 'overloaded'] as const;

/** Whether an error is a refusal for an engine. */
export function isRefusal(error: unknown): error is PlatformError & { readonly code: (typeof refusals)[number] } {
  return error instanceof PlatformError && (refusals as readonly string[]).includes(error.code);
}

/** Dependencies of the servers. */
interface ServersDeps {
  readonly limits: SsrLimits;
  /** Starts a server in a slot; resolves when it listens. */
  readonly start: (spec: ServerSpec, slot: number) => Promise<ServerProcess>;
  /** Writes a line of the platform to the log of a deployment. */
  readonly onLine: (key: string, level: 'info' | 'error', text: string) => void;
  /** Called when an acquired server has ended. */
  readonly onEnded: (key: string, socket: string) => void;
  readonly now?: () => number;
}

interface Entry {
  readonly spec: ServerSpec;
  readonly slot: number;
  readonly holders: Set<Holder>;
  started: Promise<ServerProcess>;
  process: ServerProcess | null;
  idleSince: number;
  startedAt: number;
  isStopping: boolean;
  /** Whether the server accepts no connections, and is being ended. */
  isLost: boolean;
}

/** Number of failures of a server, and until when it is not restarted. */
interface Pause {
  failures: number;
  until: number;
  reason: string;
}

/** If a server ran for this long, its end is not a failed start. */
const STEADY_MS = 10_000;
const PAUSES_MAX = 10_000;

export class Servers {
  #deps: ServersDeps;
  #entries = new Map<string, Entry>();
  #pauses = new Map<string, Pause>();
  #now: () => number;
  #closed = false;

  constructor(deps: ServersDeps) {
    this.#deps = deps;
    this.#now = deps.now ?? (() => performance.now());
  }

  /** Counts of starts. */
  readonly starts = { ok: 0, failed: 0 };

  *running(): Generator<ServerProcess> {
    for (const { process } of this.#entries.values()) if (process !== null) yield process;
  }

  /** Acquires the server's socket, which the engine then holds. @throws {PlatformError} */
  async acquire(spec: ServerSpec, holder: Holder): Promise<string> {
    for (;;) {
      const entry = this.#entries.get(spec.key) ?? this.#open(spec);
      if (entry.isStopping || entry.isLost) {
        await entry.process?.ended;
        continue;
      }
      entry.holders.add(holder);
      try {
        const { socket } = await entry.started;
        if (this.#entries.get(spec.key) === entry) return socket;
      } catch (error) {
        if (isRefusal(error)) throw error;
        throw new PlatformError('server_start_failed', {
          reason: (error as Error).message,
          retryAfterSeconds: this.#pauseOf(spec.key)?.seconds ?? 1,
        });
      }
    }
  }

  release(key: string, holder: Holder): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || !entry.holders.delete(holder) || entry.holders.size > 0) return;
    entry.idleSince = this.#now();
  }

  /** Releases all servers of a holder that has disconnected. */
  releaseAll(holder: Holder): void {
    for (const key of this.#entries.keys()) this.release(key, holder);
  }

  /** Called when the server does not respond on its socket. */
  lost(key: string, socket: string): void {
    const entry = this.#entries.get(key);
    if (entry?.process?.socket !== socket || entry.isStopping) return;
    entry.isLost = true;
    entry.process.kill('it accepted no connection');
  }

  /** Stops servers that have been idle long enough; called at intervals. */
  stopIdle(): void {
    for (const entry of this.#entries.values())
      if (isIdle(entry) && this.#now() - entry.idleSince >= this.#deps.limits.idleMs) void this.#stop(entry);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(
      [...this.#entries.values()].map(async (entry) => {
        await entry.started.catch(() => {});
        await this.#stop(entry);
      }),
    );
  }

  #open(spec: ServerSpec): Entry {
    if (this.#closed) throw new PlatformError('server_unavailable', { reason: 'the platform is stopping' });
    const pause = this.#pauseOf(spec.key);
    if (pause !== null)
      throw new PlatformError('server_start_failed', { reason: pause.reason, retryAfterSeconds: pause.seconds });
    this.#makeRoom();
    const slots = new Set([...this.#entries.values()].map(({ slot }) => slot));
    let slot = 0;
    while (slots.has(slot)) slot++;
    const entry: Entry = {
      spec,
      slot,
      holders: new Set(),
      started: null as never,
      process: null,
      idleSince: this.#now(),
      startedAt: this.#now(),
      isStopping: false,
      isLost: false,
    };
    this.#entries.set(spec.key, entry);
    entry.started = this.#deps.start(spec, slot);
    entry.started.then(
      (process) => {
        this.starts.ok++;
        entry.process = process;
        entry.startedAt = this.#now();
        void process.ended.then(({ reason }) => {
          this.#ended(entry, reason);
          this.#deps.onEnded(spec.key, process.socket);
        });
      },
      ({ message }: Error) => {
        this.starts.failed++;
        this.#entries.delete(spec.key);
        this.#failed(spec.key, message);
        this.#deps.onLine(spec.key, 'error', `Server not started: ${message}`);
      },
    );
    return entry;
  }

  #ended(entry: Entry, reason: string): void {
    const { key } = entry.spec;
    if (this.#entries.get(key) === entry) this.#entries.delete(key);
    if (entry.isStopping) return;
    this.#deps.onLine(key, 'error', `Server ended: ${reason}`);
    if (this.#now() - entry.startedAt < STEADY_MS) this.#failed(key, reason);
    else this.#pauses.delete(key);
  }

  #failed(key: string, reason: string): void {
    const { pauseMs, pauseMsMax } = this.#deps.limits;
    const failures = (this.#pauses.get(key)?.failures ?? 0) + 1;
    const pause = Math.min(pauseMs * 2 ** (failures - 1), pauseMsMax);
    this.#pauses.delete(key);
    this.#pauses.set(key, { failures, until: this.#now() + pause, reason });
    for (const oldest of this.#pauses.keys()) {
      if (this.#pauses.size <= PAUSES_MAX) break;
      this.#pauses.delete(oldest);
    }
  }

  #pauseOf(key: string): { readonly reason: string; readonly seconds: number } | null {
    const pause = this.#pauses.get(key);
    const leftMs = (pause?.until ?? 0) - this.#now();
    return pause === undefined || leftMs <= 0 ? null : { reason: pause.reason, seconds: Math.ceil(leftMs / 1000) };
  }

  /** Makes room for a server. @throws {PlatformError} if all servers have requests. */
  #makeRoom(): void {
    const { processesMax } = this.#deps.limits;
    if (this.#entries.size < processesMax) return;
    let oldest: Entry | null = null;
    for (const entry of this.#entries.values())
      if (isIdle(entry) && (oldest === null || entry.idleSince < oldest.idleSince)) oldest = entry;
    if (oldest === null) throw new PlatformError('overloaded', { waiting: this.#entries.size, limit: processesMax });
    void this.#stop(oldest);
  }

  async #stop(entry: Entry): Promise<void> {
    if (entry.isStopping || entry.process === null) return;
    entry.isStopping = true;
    await entry.process.stop();
  }
}

function isIdle({ holders, process, isStopping }: Entry): boolean {
  return holders.size === 0 && process !== null && !isStopping;
}
