// The configuration of a deployment, and the dependencies for serving it. handler.ts creates both; this file has only
// types.
import type { ObjectClasses } from '#core/bindings/object-classes.ts';
import type { Limits } from '#core/limits.ts';
import type { Plan } from '#core/plans.ts';
import type { ServerSpec } from '#core/ssr/protocol.ts';
import type { WorkerText } from '#core/worker-text.ts';
import type { HostFunctions } from '../bridge/host-calls.ts';
import type { FailureResponse } from '../http/error-pages.ts';
import type { Exchange } from '../http/listener.ts';
import type { DeploymentCounters, EngineCounters } from '../metrics/counters.ts';
import type { DeploymentUsage } from '../metrics/usage.ts';

/** The configuration of a deployment. */
export interface DeploymentConfig {
  readonly id: string;
  readonly project: string;
  /** The organization that owns the project; null without a control plane. */
  readonly organization: string | null;
  readonly plan: Plan;
  readonly vars: Readonly<Record<string, string>>;
  /**
   * The module of guest/bindings/ for each binding name. `assets` stands for the static files; null means an unknown
   * kind.
   */
  readonly bindings: Readonly<Record<string, string | null>>;
  /** The bundle and its hash. */
  readonly code: () => { readonly text: WorkerText; readonly hash: string };
  readonly sourceMap: () => string | null;
  /**
   * Returns work that must be completed before the worker is loaded, such as migrations; null if there is none. Rejects
   * with a PlatformError.
   */
  readonly prepare?: (() => Promise<void>) | null;
  /** The project that owns its durable objects; null if none are declared. */
  readonly objects?: {
    readonly namespace: string;
    readonly branch: string;
    readonly preview: string | null;
    readonly classes: ObjectClasses;
  } | null;
  /** The server that answers requests of an ssr project. The worker makes the server's binding calls. */
  readonly server?: ServerSpec | null;
}

/** Dependencies of serving, apart from the isolate. */
export interface ServingDeps {
  /** Counters of the deployment. */
  readonly counters: DeploymentCounters;
  readonly usage: DeploymentUsage;
  readonly engineCounters: EngineCounters;
  readonly hostFunctions: HostFunctions;
  readonly limits: Limits;
  /** Returns the headers as the worker receives them, with the client's true address. */
  readonly clientHeaders: (headerBlock: string, remoteAddress: string) => string;
  /** Scheme that workers see in `request.url`. */
  readonly protocol: 'http' | 'https';
  /**
   * Called when a fetch handler that called `passThroughOnException` throws. Returns the status with which the request
   * was answered instead, or 0 if it was not.
   */
  readonly fallBackToAssets: (exchange: Exchange, deployment: DeploymentConfig) => number;
  /** Sends the project's own page for a failure; returns false if it has none, and nothing was sent. */
  readonly sendErrorPage: (exchange: Exchange, deployment: DeploymentConfig, failure: FailureResponse) => boolean;
}
