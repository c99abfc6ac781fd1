// A deployment, as its lanes and isolates see it; implemented by deployment.ts. Types only.
import type { HostMemory } from '../bridge/host-memory.ts';
import type { AnyInvocation } from '../invocation/invocation.ts';
import type { LogLine, StackMapper } from '../invocation/log.ts';
import type { DeploymentConfig } from './config.ts';
import type { InvocationEnds } from './invocation-ends.ts';

/** The deployment that is served. */
export interface ServedDeployment {
  readonly config: DeploymentConfig;
  /** Maps positions in its bundle to positions in the sources. */
  readonly mapper: StackMapper;
  /** Memory held for the deployment outside its isolates. */
  readonly hostMemory: HostMemory;
  /** Number of open WebSockets in all its isolates. */
  readonly openSockets: { count: number };
  readonly ends: InvocationEnds;
  log(level: LogLine['level'], text: string, invocation: AnyInvocation | null): void;
  /** Runs an invocation again after it lost its isolate before it had any effect. */
  restart(invocation: AnyInvocation): void;
}
