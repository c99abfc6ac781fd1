// Monitors engines: attributes deaths to the deployments that caused them, gives these deployments a dedicated engine,
// replaces engines that use too much memory or do not respond, and sends the assignments to all engines. Made by
// ../main.ts.
import type { Logger } from 'pino';
import type { Limits } from '#core/limits.ts';
import type { EngineProcess } from '../engines/engine-process.ts';
import type { Engines } from '../engines/engines.ts';
import type { BlamedDeployment, FromEngine, ToEngine } from '../engines/messages.ts';
import type { SupervisorState } from '../engines/state.ts';
import { readLedger, writeLedger } from './ledger-file.ts';
import type { Death } from './ledger.ts';
import { Quarantine, type Deed } from './quarantine.ts';

/** Requests a deployment must serve in quarantine to be released. */
const REQUESTS_MIN = 3;
/** Engines report once a second: an engine whose main thread is blocked for this long serves no requests. */
const SILENCE_MS = 30_000;
/** Interval of checking a pause that only waits for all engines to be ready. */
const LOOK_MS = 50;
const BACKOFF_MS_MAX = 60_000;
const WATCH_MS = 1000;

/** The reason in words why a deployment that causes lost threads is quarantined. */
const lossReasons = {
  heap: 'its heap overflowed inside V8, which cost a thread',
  endless: 'its code could not be terminated, which cost a thread',
};

interface EngineWatchDeps {
  /** A function, because engines are created after this object, and report to it. */
  readonly engines: () => Engines;
  readonly limits: Limits;
  /** Folder of the crash ledger; '' stores none. */
  readonly ledgerFolder: string;
  readonly log: Logger;
}

export class EngineWatch {
  #deps: EngineWatchDeps;
  #quarantine: Quarantine;
  #written: Quarantine['ledger'];
  #exits = new WeakMap<EngineProcess, NodeJS.Signals | null>();
  #deaths = 0;
  #lostRequests = 0;
  #pauseEnd: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout;
  #stopped = false;

  constructor(deps: EngineWatchDeps) {
    const { limits, ledgerFolder } = deps;
    this.#deps = deps;
    this.#quarantine = new Quarantine(
      {
        backoffMs: limits.quarantineBackoffMs,
        backoffMsMax: BACKOFF_MS_MAX,
        probationMs: limits.quarantineProbationMs,
        requestsMin: REQUESTS_MIN,
        ledgerMs: limits.crashLedgerMs,
      },
      ledgerFolder === '' ? new Map() : readLedger(ledgerFolder),
      Date.now(),
    );
    this.#written = this.#quarantine.ledger;
    this.#timer = setInterval(() => this.#look(), WATCH_MS);
  }

  /** Called when a quarantine engine serves its deployment. */
  serving(deployment: string): void {
    this.#quarantine.onServing(deployment, Date.now());
  }

  /** @param served requests that the deployment's engine has served in quarantine. */
  served(deployment: string, served: number): void {
    this.#quarantine.onServed(deployment, served);
  }

  /** Called when an engine's process has exited; its last messages may still arrive. */
  exited(engine: EngineProcess, signal: NodeJS.Signals | null): void {
    this.#exits.set(engine, signal);
  }

  died(engine: EngineProcess, code: number | null, signal: NodeJS.Signals | null, delayMs: number): void {
    this.#deaths++;
    this.#lostRequests += engine.load;
    const { id, place, load } = engine;
    this.#deps.log.error({ engine: id, place, code, signal, delayMs, lostRequests: load }, 'Engine exited');
  }

  /** Called when an engine has exited and all its messages are read: determines the cause. */
  closed(engine: EngineProcess): void {
    if (engine.expected || this.#stopped) return;
    const signal = this.#exits.get(engine) ?? null;
    const blamed = engine.blamed(signal);
    // If an engine exited by itself, no worker crashed it.
    if (signal !== null) {
      const apart = typeof engine.place === 'string' ? engine.place : null;
      this.#recordDeath({ blamed, organization: null, running: engine.running, at: Date.now() }, apart);
    } else this.tell();
    this.#engines.broadcast({ type: 'death', link: engine.link, blamed });
  }

  /** Sends the assignments to all engines. */
  tell(): void {
    if (this.#stopped) return;
    this.#engines.broadcast(this.clusterState());
    this.#awaitPauseEnd();
  }

  clusterState(): ToEngine {
    const engines = this.#engines;
    return {
      type: 'cluster-state',
      serving: engines.serving().map(({ place, link }) => ({ place: place as number, link })),
      quarantined: this.#quarantine.list((deployment) => engines.ofQuarantine(deployment)?.link ?? null),
    };
  }

  /** Starts the requested dedicated engine of a quarantined deployment. */
  want(deployment: string): void {
    const isFull = this.#engines.quarantined.length >= this.#deps.limits.quarantineEnginesMax;
    if (!isFull && this.#quarantine.mayServe(deployment, Date.now())) this.#engines.startQuarantineEngine(deployment);
  }

  /** Called when an engine has lost a thread because of a deployment. */
  lostThread(engine: EngineProcess, lost: FromEngine & { readonly type: 'lost-thread' }): void {
    const { deployment, organization, reason } = lost;
    this.#deps.log.warn({ engine: engine.id, place: engine.place, deployment, reason }, 'Thread lost');
    const apart = typeof engine.place === 'string' ? engine.place : null;
    const death = { blamed: deployment, organization, running: [], at: Date.now() };
    this.#recordDeath(death, apart, { reason: lossReasons[reason], burntMs: 0 });
  }

  /** @param blamed the deployment that caused this, so that it does not harm others repeatedly. */
  recycle(engine: EngineProcess, reason: string, blamed: BlamedDeployment | null): void {
    if (engine.state !== 'listening') return;
    const apart = typeof engine.place === 'string' ? engine.place : null;
    if (apart !== null) this.#engines.endQuarantine(apart);
    else if (!this.#engines.recycle(engine)) return;
    const named = { blamed: blamed?.deployment ?? null, burntMs: blamed?.burntMs ?? 0 };
    this.#deps.log.warn({ engine: engine.id, place: engine.place, reason, ...named }, 'Engine replaced');
    if (blamed === null) return;
    const { deployment, organization, burntMs } = blamed;
    const deed = { reason: `its engine had to be replaced: ${reason}`, burntMs };
    this.#recordDeath({ blamed: deployment, organization, running: [], at: Date.now() }, apart, deed);
  }

  state(): ReturnType<Quarantine['state']> & Pick<SupervisorState, 'deaths' | 'lostRequests'> {
    return { ...this.#quarantine.state(Date.now()), deaths: this.#deaths, lostRequests: this.#lostRequests };
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#timer);
    clearTimeout(this.#pauseEnd);
  }

  get #engines(): Engines {
    return this.#deps.engines();
  }

  /** Attributes a death, or an equivalent event, to its causes. */
  #recordDeath(death: Death, apart: string | null, deed?: Deed): void {
    const struck = this.#quarantine.onDeath(death, apart, deed);
    for (const { deployment, strikes, until, reason } of this.#quarantine.state(Date.now()).quarantine) {
      if (struck.includes(deployment))
        this.#deps.log.warn({ deployment, strikes, until, reason }, 'Deployment quarantined');
    }
    this.#keep();
    this.tell();
  }

  #awaitPauseEnd(): void {
    clearTimeout(this.#pauseEnd);
    const end = this.#quarantine.nextPauseEnd;
    if (end !== null) this.#pauseEnd = setTimeout(() => this.#pass(), Math.max(LOOK_MS, end - Date.now())).unref();
  }

  /** Releases deployments whose time is over. */
  #pass(): void {
    const engines = this.#engines;
    const free = this.#quarantine.pass(Date.now(), engines.isFull);
    for (const deployment of free)
      if (engines.quarantined.includes(deployment))
        this.#deps.log.info({ deployment }, 'Deployment released from quarantine');
    if (free.length > 0) this.tell();
    else this.#awaitPauseEnd();
    // Quarantine engines end only now, when the other engines no longer send requests to them.
    for (const deployment of free) engines.endQuarantine(deployment);
    this.#keep();
  }

  #keep(): void {
    const { ledgerFolder, log } = this.#deps;
    if (ledgerFolder === '' || this.#quarantine.ledger === this.#written) return;
    try {
      writeLedger(ledgerFolder, this.#quarantine.ledger);
      this.#written = this.#quarantine.ledger;
    } catch (error) {
      log.error({ error: (error as Error).message }, 'Crash ledger not written');
    }
  }

  #look(): void {
    this.#pass();
    for (const engine of this.#engines.all()) this.#check(engine);
    for (const deployment of this.#engines.quarantined) this.#endIdle(deployment);
  }

  #check(engine: EngineProcess): void {
    const { limits, log } = this.#deps;
    engine.measure();
    if (engine.state !== 'listening') return;
    if (Date.now() - engine.heardAt > SILENCE_MS) {
      log.error({ engine: engine.id, place: engine.place }, 'Engine unresponsive: killed');
      engine.abandon();
      return;
    }
    const megabytes = Math.round(engine.rssBytes / 1024 / 1024);
    if (megabytes <= limits.engineRecycleMb || Date.now() - engine.startedAt <= limits.engineRecycleAgeMs) return;
    const reason = `it holds ${megabytes} MB of memory; ${limits.engineRecycleMb} MB are allowed (ENGINE_RECYCLE_MB)`;
    this.recycle(engine, reason, null);
  }

  #endIdle(deployment: string): void {
    const engine = this.#engines.ofQuarantine(deployment);
    const idleMs = 2 * this.#deps.limits.quarantineProbationMs;
    if (engine === null || engine.load > 0 || Date.now() - engine.lastServedAt < idleMs) return;
    this.#quarantine.onIdle(deployment);
    this.#engines.endQuarantine(deployment);
    this.tell();
  }
}
