// The supervisor's state of its processes, for operators: read by the private port (`/_platform/status`), the log and
// tests. This file contains only types; engines.ts, quarantine.ts and services.ts fill them. Contains no secrets.
import type { Figure } from '#core/process/figures.ts';

/** Name of a deployment in the supervisor: `<project>/<deployment id>`. */
export type DeploymentKey = string;

/** A `spare` is booted but serves no requests yet: it replaces the next engine that dies. */
export type EngineRole = 'serving' | 'quarantine' | 'spare';

/** One engine process. */
export interface EngineState {
  /** The number of the process: increases with every started process, and is never reused. */
  readonly id: number;
  readonly pid: number;
  readonly role: EngineRole;
  /** `ready`: a booted spare. A `draining` engine takes no new work, and ends when its current work is done. */
  readonly state: 'starting' | 'ready' | 'listening' | 'draining';
  /** Slot of the engine: a number for a serving engine, the deployment for a quarantine engine, null for a spare. */
  readonly place: number | DeploymentKey | null;
  /** ISO time. */
  readonly startedAt: string;
  /** Number of earlier processes in this slot. */
  readonly restarts: number;
  /** Resident memory, at most a second old. */
  readonly rssBytes: number;
  /** Threads lost to code that V8 cannot end, and to heap overflows inside V8. */
  readonly lostThreads: number;
  /** Running and waiting requests, at most a second old. */
  readonly load: number;
  /** Requests forwarded to other engines, at most a second old. */
  readonly forwarded: number;
  /** Unix socket that serves HTTP on `/_platform/...`; an engine that is `starting` does not answer yet. */
  readonly socketPath: string;
}

/** A deployment that is quarantined because it kills engines. */
export interface QuarantineState {
  readonly deployment: DeploymentKey;
  /** ISO time. */
  readonly since: string;
  /** Number of engines and threads that the deployment is blamed for. */
  readonly strikes: number;
  /** Requests get 503 until this ISO time; null if a dedicated engine serves the deployment. */
  readonly until: string | null;
  /** The reason in words, for the operator. */
  readonly reason: string;
}

/** The crash ledger's entry of a deployment. */
export interface LedgerEntry {
  readonly deployment: DeploymentKey;
  /** Deaths of engines whose crashing thread was running the deployment, and threads that they lost because of it. */
  readonly exact: number;
  /** Deaths of engines that were serving the deployment, without a known cause. */
  readonly suspected: number;
  /** ISO time of the last death. */
  readonly lastAt: string;
}

/** A process of the platform besides engines: broker, database, database service. */
export interface ServiceState {
  readonly name: string;
  readonly pid: number | null;
  readonly state: 'starting' | 'ready' | 'waiting' | 'stopped';
  readonly restarts: number;
  /** The process's last reported metrics; absent before the first report and after its exit. */
  readonly figures?: readonly Figure[];
}

/** The whole state. */
export interface SupervisorState {
  readonly port: number;
  readonly startedAt: string;
  readonly engines: readonly EngineState[];
  readonly quarantine: readonly QuarantineState[];
  readonly ledger: readonly LedgerEntry[];
  /** Number of engines that ended unexpectedly. */
  readonly deaths: number;
  /** Known number of requests in engines when they died. */
  readonly lostRequests: number;
  readonly services: readonly ServiceState[];
}
