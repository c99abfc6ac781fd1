// The engine processes: their number, and how to replace one without dropping a request. A spare is always booted, so
// that a dead engine is replaced within milliseconds. Independent of crash ledgers: main.ts is notified of every death.
import type { EngineDeps, EngineProcess } from './engine-process.ts';
import { ListeningSockets } from './listening-sockets.ts';
import type { FromEngine, ToEngine } from './messages.ts';
import type { DeploymentKey, EngineState } from './state.ts';
import type { SentHandle } from '#core/process/socket-activation.ts';
import { EXIT_CONFIGURATION } from '#core/process/run-process.ts';

/** Dependencies of the engines. */
interface EnginesDeps {
  /** Starts a process. */
  readonly create: (deps: Pick<EngineDeps, 'id' | 'onMessage' | 'onExit' | 'onClosed'>) => EngineProcess;
  /** Number of serving engines. */
  readonly processes: number;
  readonly spares: number;
  readonly port: number;
  /** The listening socket that all engines share; null means that each engine opens its own. */
  readonly socket: SentHandle | null;
  readonly drainMs: number;
  /** Called when engines have started or stopped. */
  readonly onChange: () => void;
  /** Called before an engine serves: sends it the initial state. */
  readonly onAssigned: (engine: EngineProcess) => void;
  /** Called when an engine accepts requests. */
  readonly onListening: (engine: EngineProcess) => void;
  /** Called when an engine ended unexpectedly. */
  readonly onDeath: (
    engine: EngineProcess,
    code: number | null,
    signal: NodeJS.Signals | null,
    delayMs: number,
  ) => void;
  /**
   * Called when no engine has served yet, and this engine cannot start with its configuration, so that a restart would
   * not help.
   */
  readonly onFatal: (code: number) => void;
  /** Any other message. */
  readonly onMessage: (engine: EngineProcess, message: FromEngine) => void;
}

const BACKOFF_MS_MAX = 5000;
/** An engine that dies younger than this did not start properly: each following start is delayed longer. */
const YOUNG_MS = 3000;
const HAND_OVER_MS = 3000;
/** How long after its own deadline an engine is killed. */
const KILL_MS = 2000;

export class Engines {
  #deps: EnginesDeps;
  #places: Place[];
  #apart = new Map<DeploymentKey, Place>();
  /** Engines without an assignment, booting or ready. */
  #free: EngineProcess[] = [];
  #leaving = new Set<EngineProcess>();
  #sockets: ListeningSockets;
  #lastId = 0;
  #youngDeaths = 0;
  #hasServed = false;
  #waiting: NodeJS.Timeout | null = null;
  #stopping: (() => void) | null = null;

  constructor(deps: EnginesDeps) {
    this.#deps = deps;
    this.#sockets = new ListeningSockets(deps.socket);
    this.#places = Array.from({ length: deps.processes }, (_, index) => ({
      key: index,
      engine: null,
      successor: null,
      restarts: 0,
    }));
  }

  start(): void {
    this.#fill();
  }

  /** Serving engines that accept requests. */
  serving(): EngineProcess[] {
    return this.#places.flatMap(({ engine }) => (engine?.state === 'listening' ? [engine] : []));
  }

  /** Whether all engines serve and the spares are ready. */
  get isFull(): boolean {
    const booted = this.#free.filter(({ state }) => state === 'booted').length;
    return this.serving().length === this.#places.length && booted >= this.#deps.spares;
  }

  /** The quarantine engine of a deployment, once it accepts requests. */
  ofQuarantine(deployment: DeploymentKey): EngineProcess | null {
    const engine = this.#apart.get(deployment)?.engine;
    return engine?.state === 'listening' ? engine : null;
  }

  get quarantined(): readonly DeploymentKey[] {
    return [...this.#apart.keys()];
  }

  /** Starts a dedicated engine for a deployment. */
  startQuarantineEngine(deployment: DeploymentKey): void {
    if (this.#apart.has(deployment)) return;
    this.#apart.set(deployment, { key: deployment, engine: null, successor: null, restarts: 0 });
    this.#fill();
  }

  /** Stops it. */
  endQuarantine(deployment: DeploymentKey): void {
    const place = this.#apart.get(deployment);
    if (place === undefined) return;
    this.#apart.delete(deployment);
    if (place.engine !== null) this.#dismiss(place.engine);
  }

  /**
   * Replaces an engine by another process, which listens before the old process stops. Returns false if the engine is
   * already being replaced.
   */
  recycle(engine: EngineProcess): boolean {
    const place = this.#placeOf(engine);
    if (place === undefined || place.successor !== null || typeof place.key !== 'number') return false;
    place.successor = 'wanted';
    this.#fill();
    return true;
  }

  broadcast(message: ToEngine): void {
    for (const { engine } of [...this.#places, ...this.#apart.values()]) engine?.send(message);
  }

  /** All processes. */
  all(): EngineProcess[] {
    const places = [...this.#places, ...this.#apart.values()];
    const assigned = places.flatMap(({ engine, successor }) =>
      [engine, successor].filter((one) => one !== null && one !== 'wanted'),
    );
    return [...assigned, ...this.#free, ...this.#leaving];
  }

  states(): EngineState[] {
    return this.all().map((engine) => engine.toState());
  }

  /** Resolves when all have exited. */
  async stop(): Promise<void> {
    const gone = new Promise<void>((resolve) => (this.#stopping = resolve));
    if (this.#waiting !== null) clearTimeout(this.#waiting);
    this.#sockets.close();
    for (const engine of this.#free) engine.kill();
    for (const { engine, successor } of [...this.#places, ...this.#apart.values()]) {
      // With a shared socket, new connections wait for the next start of the platform. Idle connections then stay open
      // for their usual time, so that no client sends a request on a closed connection.
      engine?.drain(this.#deps.drainMs + KILL_MS, this.#deps.socket !== null);
      if (successor !== null && successor !== 'wanted') successor.kill();
    }
    this.#whenGone();
    return gone;
  }

  #whenGone(): void {
    const all = [...this.#places, ...this.#apart.values()];
    if (
      this.#free.length + this.#leaving.size === 0 &&
      all.every(({ engine, successor }) => engine === null && !isProcess(successor))
    )
      this.#stopping?.();
  }

  /** Assigns ready processes to slots that need one, and starts missing processes. */
  #fill(): void {
    if (this.#stopping !== null) return;
    const all = [...this.#places, ...this.#apart.values()];
    for (const place of all) if (place.engine === null) this.#take((engine) => this.#assign(place, engine, null));
    for (const place of all) if (place.successor === 'wanted') this.#take((engine) => this.#succeed(place, engine));
    const wanting = all.filter(({ engine, successor }) => engine === null || successor === 'wanted').length;
    // Spares boot after all serving engines, not at the same time.
    const spares = all.every(({ engine }) => engine !== null && engine.state !== 'assigned') ? this.#deps.spares : 0;
    const missing = wanting + spares - this.#free.length;
    if (missing > 0 && this.#waiting === null) for (let i = 0; i < missing; i++) this.#boot();
  }

  #take(use: (engine: EngineProcess) => void): void {
    const at = this.#free.findIndex(({ state }) => state === 'booted');
    if (at >= 0) use(this.#free.splice(at, 1)[0]!);
  }

  #boot(): void {
    const engine = this.#deps.create({
      id: ++this.#lastId,
      onMessage: (from, message, handle) => this.#onMessage(from, message, handle),
      onExit: (from, code, signal) => this.#onExit(from, code, signal),
      onClosed: () => {},
    });
    this.#free.push(engine);
  }

  #assign(place: Place, engine: EngineProcess, handle: SentHandle | null): void {
    const role = typeof place.key === 'number' ? 'serving' : 'quarantine';
    engine.state = 'assigned';
    engine.role = role;
    engine.place = place.key;
    engine.restarts = place.restarts;
    engine.lastServedAt = Date.now();
    if (place.engine === null) place.engine = engine;
    this.#deps.onAssigned(engine);
    const number = typeof place.key === 'number' ? place.key : null;
    const message = { type: 'assign', role, place: number, port: this.#deps.port } as const;
    const orphan = handle === null && number !== null ? this.#sockets.ofPlace(number) : null;
    if (orphan !== null) engine.share({ ...message, inherits: true }, orphan);
    else engine.send({ ...message, inherits: handle !== null }, handle);
  }

  /**
   * A ready process gets the listening socket of the process that it replaces, so that no connection is lost between
   * the two.
   */
  #succeed(place: Place, engine: EngineProcess): void {
    const old = place.engine;
    place.successor = engine;
    if (old === null) {
      place.successor = null;
      this.#assign(place, engine, null);
      return;
    }
    old.send({ type: 'hand-over' });
    // If the engine does not answer, it is replaced anyway.
    setTimeout(() => this.#inherit(place, null), HAND_OVER_MS).unref();
  }

  #inherit(place: Place, handle: SentHandle | null): void {
    const { successor } = place;
    if (isProcess(successor) && successor.state === 'booted') this.#assign(place, successor, handle);
    else handle?.close();
  }

  #onMessage(engine: EngineProcess, message: FromEngine, handle: SentHandle | null): void {
    if (message.type === 'booted') {
      if (engine.state !== 'starting') return;
      engine.state = 'booted';
      this.#fill();
    } else if (message.type === 'listener') {
      const place = this.#placeOf(engine);
      if (place === undefined) handle?.close();
      else this.#inherit(place, handle);
    } else if (message.type === 'listening') {
      // The process may have been told to stop in the meantime, or have exited.
      if (engine.state !== 'assigned') {
        handle?.close();
        return;
      }
      engine.state = 'listening';
      const { technology, reason } = message;
      engine.listener = technology === null ? null : { technology, reason };
      this.#sockets.onListening(engine, handle);
      const place =
        [...this.#places, ...this.#apart.values()].find(({ successor }) => successor === engine) ??
        this.#placeOf(engine);
      if (place === undefined) {
        this.#dismiss(engine);
        return;
      }
      const old = place.engine;
      if (place.successor === engine) {
        place.successor = null;
        place.engine = engine;
        place.restarts++;
        engine.restarts = place.restarts;
      }
      this.#hasServed = true;
      this.#deps.onListening(engine);
      this.#deps.onChange();
      if (old !== null && old !== engine) this.#dismiss(old);
      this.#sockets.settle(this.serving());
      this.#fill();
    } else this.#deps.onMessage(engine, message);
  }

  #dismiss(engine: EngineProcess): void {
    this.#sockets.release(engine);
    this.#leaving.add(engine);
    engine.drain(this.#deps.drainMs + KILL_MS, true);
  }

  #onExit(engine: EngineProcess, code: number | null, signal: NodeJS.Signals | null): void {
    this.#leaving.delete(engine);
    this.#free = this.#free.filter((other) => other !== engine);
    for (const place of [...this.#places, ...this.#apart.values()]) {
      if (place.successor === engine) place.successor = 'wanted';
      if (place.engine !== engine) continue;
      place.restarts++;
      place.engine = null;
      if (isProcess(place.successor)) {
        place.engine = place.successor.state === 'booted' ? null : place.successor;
        if (place.engine === null) this.#free.unshift(place.successor);
      }
      place.successor = null;
      // A quarantine engine that died is only started again on demand.
      if (typeof place.key !== 'number') this.#apart.delete(place.key);
    }
    if (this.#stopping !== null) {
      this.#whenGone();
      return;
    }
    if (engine.expected) this.#sockets.release(engine);
    else {
      this.#sockets.onDeath(engine);
      this.#sockets.settle(this.serving());
      // Later failures are not caused by the configuration: a dependency of the engine is temporarily unavailable.
      if (code === EXIT_CONFIGURATION && !this.#hasServed) {
        this.#deps.onFatal(code);
        return;
      }
      this.#youngDeaths = Date.now() - engine.startedAt < YOUNG_MS ? this.#youngDeaths + 1 : 0;
      const delayMs = this.#youngDeaths <= 2 ? 0 : Math.min(BACKOFF_MS_MAX, 50 * 2 ** (this.#youngDeaths - 2));
      if (delayMs > 0) {
        this.#waiting ??= setTimeout(() => {
          this.#waiting = null;
          this.#fill();
        }, delayMs);
      }
      this.#deps.onDeath(engine, code, signal, delayMs);
    }
    this.#fill();
    // After a death, `onDeath` and its consequences come first, so that the remaining engines are told at once which
    // engine died and why.
    if (engine.expected) this.#deps.onChange();
  }

  #placeOf(engine: EngineProcess): Place | undefined {
    return [...this.#places, ...this.#apart.values()].find((place) => place.engine === engine);
  }
}

/** A slot to which an engine can be assigned. */
interface Place {
  readonly key: number | DeploymentKey;
  engine: EngineProcess | null;
  /** The process that will replace `engine`; `wanted` means that no process is ready yet. */
  successor: EngineProcess | 'wanted' | null;
  restarts: number;
}

function isProcess(successor: Place['successor']): successor is EngineProcess {
  return successor !== null && successor !== 'wanted';
}
