// Messages between supervisor and engines. This file contains only types, because main.ts of both sides imports it.
import type { UsageRow } from '#core/usage-row.ts';
import type { DeploymentKey } from './state.ts';

/** State of a quarantined deployment. */
export interface QuarantinedDeployment {
  readonly deployment: DeploymentKey;
  readonly strikes: number;
  /** Answered with 503 until then (ms since 1970). */
  readonly until: number;
  /** Socket of its dedicated engine; null while there is none: send `want`. */
  readonly link: string | null;
  /** Returns to the other engines at `until`; otherwise it gets a dedicated engine then. */
  readonly returns: boolean;
}

/** The deployment that caused an engine to be replaced. */
export interface BlamedDeployment {
  readonly deployment: DeploymentKey;
  /** Organization of the deployment; null without a control plane. */
  readonly organization: string | null;
  /** CPU used by its lost threads. */
  readonly burntMs: number;
}

/** The assignments: sent as a whole at every change. */
interface ClusterState {
  readonly type: 'cluster-state';
  /** Serving engines that accept requests. */
  readonly serving: readonly { readonly place: number; readonly link: string }[];
  readonly quarantined: readonly QuarantinedDeployment[];
}

/** To an engine. */
export type ToEngine =
  | ClusterState
  /** Begin to serve. `inherits`: the listening socket of the replaced engine is attached. */
  | {
      readonly type: 'assign';
      readonly role: 'serving' | 'quarantine';
      readonly place: number | null;
      readonly port: number;
      readonly inherits: boolean;
    }
  /** An engine has died, with the cause if known: requests forwarded to it may be retried, unless they caused it. */
  | { readonly type: 'death'; readonly link: string; readonly blamed: DeploymentKey | null }
  /** Send your listening socket: another engine takes over. */
  | { readonly type: 'hand-over' }
  /** The listening socket of a dead engine is attached: accept its connections too, until its slot is filled. */
  | { readonly type: 'adopt'; readonly place: number }
  /** Another engine listens there again. */
  | { readonly type: 'let-go'; readonly place: number }
  /** Whether log lines and invocations are to be recorded. */
  | { readonly type: 'recording'; readonly isOn: boolean }
  /** Finish your work, and end. If `patient` is set, idle connections keep their usual time. */
  | { readonly type: 'drain'; readonly patient: boolean };

/** From an engine. */
export type FromEngine =
  | { readonly type: 'booted' }
  /** A copy of its listening socket is attached, if the listener can share it. */
  | {
      readonly type: 'listening';
      readonly port: number;
      /** HTTP listener of the engine; null if it has none, like a quarantine engine. */
      readonly technology: 'node' | 'uws' | null;
      /** Why the listener is node:http, or null. */
      readonly reason: string | null;
    }
  /** The listening socket is attached, if the listener can give it up. */
  | { readonly type: 'listener' }
  /** On change: deployments whose code is running at this moment; and once a second. */
  | {
      readonly type: 'note';
      readonly running: readonly DeploymentKey[];
      readonly load: number;
      readonly served: number;
      readonly forwarded: number;
      readonly lostThreads: number;
    }
  /** Usage of its deployments since the last report; once a second, if there is any. */
  | { readonly type: 'usage'; readonly rows: readonly UsageRow[] }
  /**
   * Log lines, invocations and spans: JSON, one record per line (core/telemetry.ts); once a second, if there are any.
   */
  | { readonly type: 'telemetry'; readonly records: string }
  /** A request has arrived for a quarantined deployment without an engine. */
  | { readonly type: 'want'; readonly deployment: DeploymentKey }
  /** An on-demand service is needed. */
  | { readonly type: 'want-service'; readonly service: 'ssr' }
  /** The engine's final metrics, before it exits: a `MetricsReport`. */
  | { readonly type: 'report'; readonly report: unknown }
  /** A deployment has cost it a thread. `organization`: its owner, with a control plane. */
  | {
      readonly type: 'lost-thread';
      readonly deployment: DeploymentKey;
      readonly organization: string | null;
      /** `heap`: its heap overflowed inside V8; `endless`: nothing can end its code. */
      readonly reason: 'heap' | 'endless';
    }
  /** The engine must be replaced. `blamed`: the deployment that caused it, treated as if it had crashed the engine. */
  | { readonly type: 'recycle'; readonly reason: string; readonly blamed: BlamedDeployment | null };
