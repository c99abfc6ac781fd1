// What supervisor and engines say to each other over their channel. Types only: main.ts of both sides import it.
import type { UsageRow } from '#core/usage-row.ts';
import type { DeploymentKey } from '../private-port/state.ts';

/** Where a quarantined deployment stands. */
export interface QuarantinedDeployment {
  readonly deployment: DeploymentKey;
  readonly strikes: number;
  /** Answered with 503 until then (ms since 1970). */
  readonly until: number;
  /** Where the engine of its own takes requests; null while there is none: say `want`. */
  readonly link: string | null;
  /** Comes back to the others at `until`; else it gets an engine of its own then. */
  readonly returns: boolean;
}

/** Whose doing it is that an engine has to be replaced. */
export interface BlamedDeployment {
  readonly deployment: DeploymentKey;
  /** Whose it is; null where no control plane says so. */
  readonly organization: string | null;
  /** CPU that lost threads of it have burned. */
  readonly burntMs: number;
}

/** Who is where: sent whole whenever something of it changes. */
interface ClusterState {
  readonly type: 'cluster-state';
  /** Serving engines that accept requests. */
  readonly serving: readonly { readonly place: number; readonly link: string }[];
  readonly quarantined: readonly QuarantinedDeployment[];
}

/** To an engine. */
export type ToEngine =
  | ClusterState
  /** Begin to serve. `inherits`: the listening socket of the one it replaces comes along. */
  | {
      readonly type: 'assign';
      readonly role: 'serving' | 'quarantine';
      readonly place: number | null;
      readonly port: number;
      readonly inherits: boolean;
    }
  /**
   * An engine is dead, and what is known of the cause: requests forwarded to it may be tried again, unless theirs was
   * it.
   */
  | { readonly type: 'death'; readonly link: string; readonly blamed: DeploymentKey | null }
  /** Send your listening socket: another engine takes over. */
  | { readonly type: 'hand-over' }
  /** The listening socket of a dead engine comes along: answer what comes to it too, until its place is taken. */
  | { readonly type: 'adopt'; readonly place: number }
  /** Another engine listens there again. */
  | { readonly type: 'let-go'; readonly place: number }
  /** Whether somebody takes what is recorded of lines and invocations. */
  | { readonly type: 'recording'; readonly isOn: boolean }
  /** Finish what you have, and end. `patient`: idle connections get the time they always have. */
  | { readonly type: 'drain'; readonly patient: boolean };

/** From an engine. */
export type FromEngine =
  | { readonly type: 'booted' }
  /** A copy of its listening socket comes along, where the listener can share it. */
  | { readonly type: 'listening'; readonly port: number }
  /** The listening socket comes along, where the listener can part with it. */
  | { readonly type: 'listener' }
  /** When it changes: deployments whose code is running at this moment; and once a second. */
  | {
      readonly type: 'note';
      readonly running: readonly DeploymentKey[];
      readonly load: number;
      readonly served: number;
      readonly forwarded: number;
      readonly lostThreads: number;
    }
  /** What its deployments used since the last one; once a second, where they did. */
  | { readonly type: 'usage'; readonly rows: readonly UsageRow[] }
  /** Lines, invocations and spans: JSON, one record a line (core/telemetry.ts); once a second, where there are any. */
  | { readonly type: 'telemetry'; readonly records: string }
  /** There is a request for a quarantined deployment that has no engine. */
  | { readonly type: 'want'; readonly deployment: DeploymentKey }
  /** A service that runs on demand is wanted. */
  | { readonly type: 'want-service'; readonly service: 'ssr' }
  /** The last word on its metrics, before it ends: a `MetricsReport`. */
  | { readonly type: 'report'; readonly report: unknown }
  /** A deployment has lost it a thread. `organization`: whose that is, where a control plane says so. */
  | {
      readonly type: 'lost-thread';
      readonly deployment: DeploymentKey;
      readonly organization: string | null;
      /** `heap`: its heap overflowed inside V8; `endless`: nothing ends its code. */
      readonly reason: 'heap' | 'endless';
    }
  /** It has to be replaced. `blamed`: the deployment that is to blame for it, as if it had ended the engine. */
  | { readonly type: 'recycle'; readonly reason: string; readonly blamed: BlamedDeployment | null };
