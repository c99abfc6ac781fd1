// What the supervisor knows of its processes, as operators see it: read by the private port (`/_platform/status`), the
// log and tests. Types only; engines.ts, quarantine.ts and services.ts fill it. Nothing secret is in it.
import type { Figure } from '#core/process/figures.ts';

/** A deployment as the supervisor names it: `<project>/<deployment id>`. */
export type DeploymentKey = string;

/** `spare`: booted, serves nobody yet, takes the place of the next one that dies. */
export type EngineRole = 'serving' | 'quarantine' | 'spare';

/** One engine process. */
export interface EngineState {
  /** Counts up over all processes ever started; never used twice. */
  readonly id: number;
  readonly pid: number;
  readonly role: EngineRole;
  /** `ready`: a spare that has booted. `draining`: stops taking work and ends when what it has is done. */
  readonly state: 'starting' | 'ready' | 'listening' | 'draining';
  /** Which place it fills: a number for serving ones, the deployment of a quarantine, null for a spare. */
  readonly place: number | DeploymentKey | null;
  /** ISO time. */
  readonly startedAt: string;
  /** Processes that filled this place before it. */
  readonly restarts: number;
  /** Resident memory, at most a second old. */
  readonly rssBytes: number;
  /** Threads lost to code that V8 cannot end, and to heap overflows inside V8. */
  readonly lostThreads: number;
  /** Requests that run or wait, at most a second old. */
  readonly load: number;
  /** Requests it has sent to other engines, at most a second old. */
  readonly forwarded: number;
  /** Unix socket that serves HTTP on `/_platform/...`; an engine that is `starting` does not answer yet. */
  readonly socketPath: string;
}

/** A deployment that is quarantined because it kills engines. */
export interface QuarantineState {
  readonly deployment: DeploymentKey;
  /** ISO time. */
  readonly since: string;
  /** Engines and threads that it is held responsible for. */
  readonly strikes: number;
  /** Until then (ISO time) it is answered with 503; null when it is served, in an engine of its own. */
  readonly until: string | null;
  /** For the operator, in words. */
  readonly reason: string;
}

/** What the crash ledger holds of a deployment. */
export interface LedgerEntry {
  readonly deployment: DeploymentKey;
  /** Deaths of engines whose crashing thread was running it, and threads that it lost them. */
  readonly exact: number;
  /** Deaths of engines, by an unknown hand, that were serving it. */
  readonly suspected: number;
  /** ISO time of the last one. */
  readonly lastAt: string;
}

/** A process of the platform that is no engine: broker, database, database service. */
export interface ServiceState {
  readonly name: string;
  readonly pid: number | null;
  readonly state: 'starting' | 'ready' | 'waiting' | 'stopped';
  readonly restarts: number;
  /** What it told last of itself; none before it did, and after its end. */
  readonly figures?: readonly Figure[];
}

/** All of it. */
export interface SupervisorState {
  readonly port: number;
  readonly startedAt: string;
  readonly engines: readonly EngineState[];
  readonly quarantine: readonly QuarantineState[];
  readonly ledger: readonly LedgerEntry[];
  /** Engines that died without being asked to. */
  readonly deaths: number;
  /** Requests that were in engines when they died, as far as is known. */
  readonly lostRequests: number;
  readonly services: readonly ServiceState[];
}
