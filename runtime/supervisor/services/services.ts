// The platform's other processes (database, database service, broker). Processes are started in order, each when the
// previous one is ready, restarted with back-off when they die, and stopped in reverse order. Used by main.ts;
// independent of their functions.
import type { ChildProcess } from 'node:child_process';
import { figuresOf, type Figure } from '#core/process/figures.ts';
import type { ServiceState } from '../engines/state.ts';

/** How to run one service. */
export interface ServiceSpec {
  readonly name: string;
  /**
   * Starts the process, whose messages go to `onMessage`. The service is ready when it sends `{type: 'ready'}` (or
   * `listening`).
   */
  readonly start: () => ChildProcess;
  readonly onMessage?: (message: unknown) => void;
  /** Whether the service starts on demand (`want`), and exits with code 0 when it is idle. */
  readonly isOnDemand?: boolean;
  /** Timeouts for becoming ready, and for stopping after SIGTERM. */
  readonly readyMsMax: number;
  readonly stopMsMax: number;
}

/** Callbacks about services. */
export interface ServiceHooks {
  readonly onDeath: (name: string, code: number | null, signal: NodeJS.Signals | null, delayMs: number) => void;
  readonly onReady: (name: string) => void;
  /** Called when a requested service did not start. */
  readonly onFailure?: (name: string, error: Error) => void;
}

const BACKOFF_MS = 100;
const BACKOFF_MS_MAX = 10_000;
/** A service that ran this long resets its back-off. */
const STEADY_MS = 10_000;

export class Services {
  #services: Service[];
  #hooks: ServiceHooks;
  #stopping = false;

  constructor(specs: readonly ServiceSpec[], hooks: ServiceHooks) {
    this.#hooks = hooks;
    this.#services = specs.map((spec) => ({
      spec,
      child: null,
      state: 'stopped',
      restarts: 0,
      figures: [],
      deaths: 0,
      startedAt: 0,
      timer: null,
    }));
  }

  /** Resolves when all are ready. @throws {Error} when a service dies or times out before it was first ready. */
  async start(): Promise<void> {
    for (const service of this.#services) {
      if (this.#stopping) return;
      // Starts a service again after a failure, if the services before it are running.
      if (service.spec.isOnDemand !== true && service.state === 'stopped') await this.#run(service);
    }
  }

  /**
   * Starts an on-demand service, unless it is running or has just failed: callers repeat the request.
   *
   * @returns false for an unknown name.
   */
  want(name: string): boolean {
    const service = this.#services.find(({ spec }) => spec.name === name && spec.isOnDemand === true);
    if (service === undefined) return false;
    const isResting = service.deaths > 0 && performance.now() - service.startedAt < BACKOFF_MS_MAX;
    if (this.#stopping || service.state !== 'stopped' || isResting) return true;
    void this.#run(service).catch((error: unknown) => {
      service.deaths++;
      this.#hooks.onFailure?.(name, error as Error);
    });
    return true;
  }

  states(): ServiceState[] {
    return this.#services.map(({ spec, child, state, restarts, figures }) => ({
      name: spec.name,
      pid: child?.pid ?? null,
      state,
      restarts,
      figures,
    }));
  }

  #run(service: Service): Promise<void> {
    const { spec } = service;
    const child = spec.start();
    service.child = child;
    service.state = 'starting';
    service.startedAt = performance.now();
    return new Promise((resolve, reject) => {
      const silent = setTimeout(() => {
        reject(new Error(`Service ${spec.name} is not ready after ${spec.readyMsMax} ms`));
        child.kill('SIGKILL');
      }, spec.readyMsMax);
      child.on('message', (message) => {
        const { type } = message as { type?: unknown };
        if (service.state === 'starting' && (type === 'ready' || type === 'listening')) {
          clearTimeout(silent);
          service.state = 'ready';
          this.#hooks.onReady(spec.name);
          resolve();
        }
        const figures = figuresOf(message);
        if (figures === null) spec.onMessage?.(message);
        else service.figures = figures;
      });
      child.on('error', (error) => {
        clearTimeout(silent);
        reject(error);
      });
      child.on('exit', (code, signal) => {
        clearTimeout(silent);
        const wasReady = service.state === 'ready';
        service.child = null;
        service.figures = [];
        service.state = 'stopped';
        const isDone = spec.isOnDemand === true && wasReady && code === 0;
        if (isDone) service.deaths = 0;
        if (!wasReady)
          reject(new Error(`Service ${spec.name} ended before it was ready (${signal ?? `exit code ${code}`})`));
        // An on-demand service that was never ready is not retried until it is requested.
        const mayRestart = spec.isOnDemand === true ? wasReady && !isDone : wasReady || service.restarts > 0;
        if (!this.#stopping && mayRestart) this.#again(service, code, signal);
      });
    });
  }

  #again(service: Service, code: number | null, signal: NodeJS.Signals | null): void {
    service.deaths = performance.now() - service.startedAt > STEADY_MS ? 1 : service.deaths + 1;
    service.restarts++;
    service.state = 'waiting';
    const delayMs = service.deaths === 1 ? 0 : Math.min(BACKOFF_MS_MAX, BACKOFF_MS * 2 ** (service.deaths - 2));
    this.#hooks.onDeath(service.spec.name, code, signal, delayMs);
    // The end of the process also arrives as `exit`, which handles it.
    service.timer = setTimeout(() => void this.#run(service).catch(() => {}), delayMs);
  }

  /** Services are stopped in reverse order, each after the previous one has exited. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const service of this.#services.toReversed()) {
      if (service.timer !== null) clearTimeout(service.timer);
      const { child, spec } = service;
      if (child === null) continue;
      await new Promise<void>((resolve) => {
        const killer = setTimeout(() => child.kill('SIGKILL'), spec.stopMsMax);
        child.once('exit', () => {
          clearTimeout(killer);
          resolve();
        });
        child.kill('SIGTERM');
      });
      service.state = 'stopped';
    }
  }
}

interface Service {
  readonly spec: ServiceSpec;
  child: ChildProcess | null;
  state: ServiceState['state'];
  restarts: number;
  figures: readonly Figure[];
  deaths: number;
  startedAt: number;
  timer: NodeJS.Timeout | null;
}
