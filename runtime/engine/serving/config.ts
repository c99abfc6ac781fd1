// What a deployment runs, and what the files of this folder need to serve it. handler.ts makes both; types only.
import type { Limits } from '#core/limits.ts';
import type { InvocationKind, Plan } from '#core/plans.ts';
import type { ServerSpec } from '#core/ssr/protocol.ts';
import type { WorkerText } from '#core/worker-text.ts';
import type { HostFunctions } from '../bridge/host-calls.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { Exchange } from '../http/listener.ts';
import type { AnyInvocation, HttpInvocation } from '../invocation/invocation.ts';
import type { LogLine } from '../invocation/log.ts';
import type { Outcome } from '../invocation/outcome.ts';
import type { DeploymentCounters, EngineCounters } from '../metrics/counters.ts';

/** What a deployment runs. */
export interface DeploymentConfig {
  readonly id: string;
  readonly project: string;
  /** Whose the project is; null where no control plane says so. */
  readonly organization: string | null;
  readonly plan: Plan;
  readonly vars: Readonly<Record<string, string>>;
  /** Binding name -> kind. */
  readonly bindings: Readonly<Record<string, string>>;
  /** The bundle and its hash. */
  readonly code: () => { readonly text: WorkerText; readonly hash: string };
  readonly sourceMap: () => string | null;
  /**
   * To be done before its worker is loaded: its migrations. Null when there is nothing, or no more. It rejects with a
   * PlatformError.
   */
  readonly prepare?: (() => Promise<void>) | null;
  /** Of an ssr project: what answers its requests. Its worker does its calls of bindings. */
  readonly server?: ServerSpec | null;
}

/** What serving needs beside its isolate. */
export interface ServingParts {
  /** Of the deployment. */
  readonly counters: DeploymentCounters;
  readonly engineCounters: EngineCounters;
  readonly hostFunctions: HostFunctions;
  readonly limits: Limits;
  /** Headers as the worker gets them: with its client's true address. */
  readonly clientHeaders: (headerBlock: string, remoteAddress: string) => string;
  /** Scheme that workers see in `request.url`. */
  readonly protocol: 'http' | 'https';
  /** A fetch handler that called `passThroughOnException` threw: true when the request was answered otherwise. */
  readonly passThrough: (exchange: Exchange, deployment: DeploymentConfig) => boolean;
}

/** What is kept of an invocation whose code goes on after its end. */
export interface BurningInvocation {
  readonly kind: InvocationKind;
  /** Of a request; '' for other events. */
  readonly target: string;
}

/** The deployment that is served. */
export interface ServedDeployment {
  readonly config: DeploymentConfig;
  /** What is held for it outside of its isolates. */
  readonly hostMemory: HostMemory;
  /** Open WebSockets in all its isolates. */
  readonly openSockets: { count: number };
  /** Ends an invocation: the response where none is out yet, the log, the record. */
  end(invocation: AnyInvocation, outcome: Outcome, now?: number): void;
  /** Answers a request whose handler failed, and whose other work goes on. */
  answerFailed(invocation: HttpInvocation, outcome: Outcome & { kind: 'failed' }): void;
  /** A text whose places in the bundle are those of the sources. */
  mapped(text: string): string;
  /** The same; null where the bundle has no source map. */
  mapStack(text: string): string | null;
  log(level: LogLine['level'], text: string, invocation: AnyInvocation | null): void;
  /** Its code used CPU that belongs to no invocation that runs. @param of the one that began it; null: none. */
  burnt(of: BurningInvocation | null, cpuMs: number): void;
  /** Runs an invocation again that lost its isolate before it had any effect. */
  restart(invocation: AnyInvocation): void;
}
