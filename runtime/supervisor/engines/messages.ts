// Messages between supervisor and engines. This file contains only types, because main.ts of both sides imports it.
import type { UsageRow } from '#core/usage-row.ts';
import type { DeploymentKey } from './state.ts';

/** State of a quarantined deployment. */
export interface QuarantinedDeployment {
  readonly deployment: DeploymentKey;
  readonly strikes: number;
  /** Requests get 503 until this time (ms since 1970). */
  readonly until: number;
  /** Socket of its dedicated engine; null while there is none, in which case engines send `want`. */
  readonly link: string | null;
  /** Whether the deployment returns to the other engines at `until`; otherwise, it gets a dedicated engine then. */
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

/** The serving engines and the quarantined deployments, sent as a whole at every change. */
interface ClusterState {
  readonly type: 'cluster-state';
  /** Serving engines that accept requests. */
  readonly serving: readonly { readonly place: number; readonly link: string }[];
  readonly quarantined: readonly QuarantinedDeployment[];
}

/** To an engine. */
export type ToEngine =
  | ClusterState
  /** Begin to serve. `inherits` means that the listening socket of the replaced engine is attached. */
  | {
      readonly type: 'assign';
      readonly role: 'serving' | 'quarantine';
      readonly place: number | null;
      readonly port: number;
      readonly inherits: boolean;
    }
  /**
   * Says that an engine died, with the cause if known: requests forwarded to it may be retried, unless they are the
   * cause.
   */
  | { readonly type: 'death'; readonly link: string; readonly blamed: DeploymentKey | null }
  /** Asks the engine to send its listening socket, because another engine takes over. */
  | { readonly type: 'hand-over' }
  /** Sends the listening socket of a dead engine: this engine accepts its connections too, until the slot is filled. */
  | { readonly type: 'adopt'; readonly place: number }
  /** Says that a new engine listens at the slot, so this engine stops accepting its connections. */
  | { readonly type: 'let-go'; readonly place: number }
  /** Whether log lines and invocations are to be recorded. */
  | { readonly type: 'recording'; readonly isOn: boolean }
  /** Asks the engine to finish its work and end. With `patient`, idle connections stay open for their usual time. */
  | { readonly type: 'drain'; readonly patient: boolean };

/** From an engine. */
export type FromEngine =
  | { readonly type: 'booted' }
  /** Says that the engine listens; a copy of its listening socket is attached, if the listener can share it. */
  | {
      readonly type: 'listening';
      readonly port: number;
      /** HTTP listener of the engine; null for an engine without one, such as a quarantine engine. */
      readonly technology: 'node' | 'uws' | null;
      /** The reason why the listener is node:http, or null. */
      readonly reason: string | null;
    }
  /** The response to `hand-over`: the listening socket is attached, if the listener can give it up. */
  | { readonly type: 'listener' }
  /** The deployments whose code is running at this moment, sent at every change and once a second. */
  | {
      readonly type: 'note';
      readonly running: readonly DeploymentKey[];
      readonly load: number;
      readonly served: number;
      readonly forwarded: number;
      readonly lostThreads: number;
    }
  /** Usage of the engine's deployments since the last report, sent once a second if there is any. */
  | { readonly type: 'usage'; readonly rows: readonly UsageRow[] }
  /**
   * Log lines, invocations and spans as JSON, one record per line (core/telemetry.ts), sent once a second if there are
   * any.
   */
  | { readonly type: 'telemetry'; readonly records: string }
  /** Says that a request has arrived for a quarantined deployment without an engine. */
  | { readonly type: 'want'; readonly deployment: DeploymentKey }
  /** Says that an on-demand service is needed. */
  | { readonly type: 'want-service'; readonly service: 'ssr' }
  /** The engine's final metrics, before it exits: a `MetricsReport`. */
  | { readonly type: 'report'; readonly report: unknown }
  /**
   * Says that the engine has lost a thread because of a deployment. With a control plane, `organization` is the owner
   * of the deployment.
   */
  | {
      readonly type: 'lost-thread';
      readonly deployment: DeploymentKey;
      readonly organization: string | null;
      /** `heap` means that the heap overflowed inside V8; `endless` means that nothing can end the code. */
      readonly reason: 'heap' | 'endless';
    }
  /**
   * Says that the engine must be replaced. `blamed` is the deployment that caused this, which is treated as if it had
   * crashed the engine.
   */
  | { readonly type: 'recycle'; readonly reason: string; readonly blamed: BlamedDeployment | null };
