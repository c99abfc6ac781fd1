// The connections of all pools of an engine: lends them to sessions, keeps idle connections, and limits them for each
// project and for the engine. Created by engine.ts; session.ts requests connections from it.
import { Failure } from '#core/failure.ts';
import { ServerConnection, type Opener, type ServerDeps } from './server-connection.ts';
import type { ServerAddress } from './server-address.ts';

/** Limits of core/limits/engine.ts. */
interface PoolLimits {
  readonly poolConnectionsMax: number;
  readonly enginePoolConnectionsMax: number;
  readonly poolIdleMs: number;
}

/** Parameters of a session. */
interface Wanted {
  /** Namespace that owns the connection: no other namespace gets it. */
  readonly namespace: string;
  /** Branch of the deployment if it is a preview: only this branch gets the connection. */
  readonly preview: string | null;
  readonly address: ServerAddress;
  readonly parameters: Readonly<Record<string, string>>;
  readonly opener: Opener;
}

/** A running session. */
interface RunningSession {
  /** Cancels the running statement of the session. */
  cancelWork(opener: Opener): Promise<void>;
}

/** A session that waits for a connection. */
interface Waiter {
  readonly wanted: Wanted;
  readonly resolve: (connection: ServerConnection) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** How long a session waits for a connection. */
const WAIT_MS = 15_000;
/** Maximum number of waiting sessions of one project. */
const WAITING_MAX = 1000;

/** The connections of one project. */
class ProjectConnections {
  readonly namespace: string;
  /** Number of connections that are open or being opened. */
  count = 0;
  /** Idle connections, in order of their last use; the latest comes last. */
  readonly idle: ServerConnection[] = [];
  readonly waiting: Waiter[] = [];
  /** Running sessions by the key that cancels them. */
  readonly sessions = new Map<string, RunningSession>();

  constructor(namespace: string) {
    this.namespace = namespace;
  }
}

export class Pools {
  readonly deps: ServerDeps;
  #limits: PoolLimits;
  #projects = new Map<string, ProjectConnections>();
  /** Number of connections of the engine that are open or being opened. */
  #count = 0;
  #all = new Set<ServerConnection>();
  #sweep: NodeJS.Timeout | null = null;
  /** Called when an idle connection is closed so that another one can take its place. */
  #isMakingRoom = false;
  #isClosed = false;

  constructor(deps: ServerDeps, limits: PoolLimits) {
    this.deps = deps;
    this.#limits = limits;
  }

  /** Number of connections that are open or being opened. */
  get connections(): number {
    return this.#count;
  }

  /** Number of connections that are not used by a session. */
  get idleConnections(): number {
    let idle = 0;
    for (const project of this.#projects.values()) idle += project.idle.length;
    return idle;
  }

  #projectOf(namespace: string): ProjectConnections {
    let project = this.#projects.get(namespace);
    if (project === undefined) this.#projects.set(namespace, (project = new ProjectConnections(namespace)));
    return project;
  }

  /** Removes a project that has no connections. */
  #forget(project: ProjectConnections): void {
    if (project.count === 0 && project.waiting.length === 0 && project.sessions.size === 0)
      this.#projects.delete(project.namespace);
  }

  /**
   * Returns a connection for one session: an idle one, a new one, or the next one that becomes free.
   *
   * @throws {Failure} `pool_refused`.
   */
  async take(wanted: Wanted, signal: AbortSignal): Promise<ServerConnection> {
    if (this.#isClosed) throw new Failure('pool_refused', 'The engine is shutting down', { state: '57P01' });
    const project = this.#projectOf(wanted.namespace);
    // Sessions that are already waiting come first.
    if (project.waiting.length === 0) {
      const idle = takeIdle(project, keyOf(wanted));
      if (idle !== null) return idle;
      if (this.#makeRoom(project)) return this.#open(project, wanted);
    }
    if (project.waiting.length >= WAITING_MAX)
      throw new Failure('pool_refused', `More than ${WAITING_MAX} sessions wait for a connection of this pool`, {
        state: '53300',
      });
    return new Promise((resolve, reject) => {
      const leave = (error: Error): void => {
        const at = project.waiting.indexOf(waiter);
        if (at === -1) return;
        project.waiting.splice(at, 1);
        clearTimeout(waiter.timer);
        this.#forget(project);
        reject(error);
      };
      const late = new Failure(
        'pool_refused',
        `No connection of this pool was free within ${WAIT_MS / 1000} s: the project may have ${this.#limits.poolConnectionsMax} in each engine`,
        { state: '53300' },
      );
      const waiter: Waiter = { wanted, resolve, reject, timer: setTimeout(leave, WAIT_MS, late) };
      project.waiting.push(waiter);
      signal.addEventListener(
        'abort',
        () => leave(new Failure('pool_refused', 'The session has ended', { state: '57014' })),
        {
          once: true,
        },
      );
    });
  }

  /** Whether the project can open one more connection; closes an idle one if that makes room. */
  #makeRoom(project: ProjectConnections): boolean {
    const isFull = project.count >= this.#limits.poolConnectionsMax;
    if (!isFull && this.#count < this.#limits.enginePoolConnectionsMax) return true;
    const unused = isFull ? (project.idle[0] ?? null) : this.#oldestIdle();
    if (unused === null) return false;
    this.#isMakingRoom = true;
    unused.end();
    this.#isMakingRoom = false;
    return true;
  }

  #oldestIdle(): ServerConnection | null {
    let oldest: ServerConnection | null = null;
    for (const { idle } of this.#projects.values()) {
      const [first] = idle;
      if (first !== undefined && (oldest === null || first.idleSince < oldest.idleSince)) oldest = first;
    }
    return oldest;
  }

  async #open(project: ProjectConnections, wanted: Wanted): Promise<ServerConnection> {
    project.count++;
    this.#count++;
    const gone = (): void => {
      project.count--;
      this.#count--;
      if (!this.#isMakingRoom) this.#serve(project);
      this.#forget(project);
    };
    try {
      const { address, parameters, opener } = wanted;
      const connection = await ServerConnection.open(keyOf(wanted), address, parameters, this.deps, opener);
      if (this.#isClosed) connection.destroy();
      if (connection.isClosed)
        throw new Failure('pool_refused', 'The server closed the connection', { state: '08006' });
      this.#all.add(connection);
      const onClose = (): void => {
        this.#all.delete(connection);
        const at = project.idle.indexOf(connection);
        if (at !== -1) project.idle.splice(at, 1);
        gone();
      };
      connection.onClose = onClose;
      return connection;
    } catch (error) {
      gone();
      throw error;
    }
  }

  /** Takes a connection back from a session that has used it. */
  async giveBack(namespace: string, connection: ServerConnection): Promise<void> {
    if (await connection.reset()) this.keep(namespace, connection);
  }

  /** Takes a connection back that no session has used. */
  keep(namespace: string, connection: ServerConnection): void {
    if (connection.isClosed) return;
    if (this.#isClosed) return connection.end();
    const project = this.#projectOf(namespace);
    connection.idleSince = performance.now();
    project.idle.push(connection);
    this.#serve(project);
    this.#sweep ??= setInterval(() => this.#endIdle(), Math.max(10, this.#limits.poolIdleMs / 4)).unref();
  }

  /** Gives free connections to waiting sessions, first to those of this project. */
  #serve(first: ProjectConnections): void {
    if (this.#isClosed) return;
    this.#serveProject(first);
    if (this.#count < this.#limits.enginePoolConnectionsMax || first.idle.length > 0)
      for (const project of this.#projects.values()) if (project.waiting.length > 0) this.#serveProject(project);
  }

  #serveProject(project: ProjectConnections): void {
    for (let waiter = project.waiting[0]; waiter !== undefined; waiter = project.waiting[0]) {
      const idle = takeIdle(project, keyOf(waiter.wanted));
      if (idle === null && !this.#makeRoom(project)) return;
      project.waiting.shift();
      clearTimeout(waiter.timer);
      if (idle === null) this.#open(project, waiter.wanted).then(waiter.resolve, waiter.reject);
      else waiter.resolve(idle);
    }
  }

  #endIdle(): void {
    const before = performance.now() - this.#limits.poolIdleMs;
    for (const project of this.#projects.values())
      for (const connection of project.idle.filter(({ idleSince }) => idleSince < before)) connection.end();
    if (this.#count > 0 || this.#sweep === null) return;
    clearInterval(this.#sweep);
    this.#sweep = null;
  }

  /**
   * Registers a running session, until the returned function is called. @param key the key of the connection's
   * CancelRequest.
   */
  began(namespace: string, key: string, session: RunningSession): () => void {
    const project = this.#projectOf(namespace);
    project.sessions.set(key, session);
    return () => {
      project.sessions.delete(key);
      this.#forget(project);
    };
  }

  /** The session of a project that a CancelRequest names. */
  sessionOf(namespace: string, key: string): RunningSession | undefined {
    return this.#projects.get(namespace)?.sessions.get(key);
  }

  /** Ends all connections. */
  close(): void {
    this.#isClosed = true;
    if (this.#sweep !== null) clearInterval(this.#sweep);
    for (const connection of this.#all) connection.destroy();
    for (const project of this.#projects.values())
      for (const waiter of project.waiting.splice(0)) {
        clearTimeout(waiter.timer);
        waiter.reject(new Failure('pool_refused', 'The engine is shutting down', { state: '57P01' }));
      }
  }
}

function takeIdle(project: ProjectConnections, key: string): ServerConnection | null {
  const at = project.idle.findLastIndex((connection) => connection.key === key);
  return at === -1 ? null : project.idle.splice(at, 1)[0]!;
}

/** A key that is equal for sessions that can share a connection: those with the same branch, account and parameters. */
function keyOf({ preview, address, parameters }: Wanted): string {
  return JSON.stringify([
    preview,
    address.id,
    ...Object.entries(parameters).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  ]);
}
