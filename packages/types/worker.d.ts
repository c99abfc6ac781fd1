// The default export of a worker, and the arguments of its handlers.
import type { QueueBatch, QueueMessage } from './queue.d.ts';
import type { TimerEvent } from './timer.d.ts';
import type { WorkflowContext, WorkflowHandler } from './workflow.d.ts';

/** Functions for a handler besides its response. */
export interface ExecutionContext {
  /**
   * Keeps the invocation alive until a promise settles, even after the response was sent. The same CPU and wall
   * limits apply. A rejection is logged.
   *
   * @example ctx.waitUntil(env.MAIL.send({ to: 'ada@example.org' }));
   */
  waitUntil(promise: Promise<unknown>): void;
  /** If the handler throws, the request is answered from the static files instead of with an error. */
  passThroughOnException(): void;
  /** The `props` that the caller passed to `ctx.exports.NAME({ props })`; empty for other invocations. */
  readonly props: Record<string, unknown>;
  /** Stubs of the worker's own entrypoints, by the name of the export. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the module's exports are not known here
  readonly exports: Record<string, any>;
}

/** Something that answers requests: the static files of the deployment (`env.<assets.binding>`). */
export interface Fetcher {
  /** Answers a request, like the global `fetch`; only path and query of the URL matter. */
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>;
}

/** A run of a `cron` schedule. */
export interface ScheduledEvent {
  readonly type: 'scheduled';
  /** Name of the schedule in platform.yaml. */
  readonly name: string;
  /** The expression, as in platform.yaml. */
  readonly cron: string;
  /** When the run was due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  /** This run is not retried if it fails. */
  noRetry(): void;
}

/**
 * The default export of a worker. Use it with `satisfies`, so that arguments are typed and the object keeps its own
 * type.
 *
 * @example export default {
 *   async fetch(request, env, ctx) {
 *     return new Response(`Hello ${env.vars.NAME}`);
 *   }, } satisfies PlatformWorker<PlatformEnv>;
 */
export interface PlatformWorker<Env = unknown> {
  /** Answers an HTTP request. */
  fetch?(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response>;
  /** Receives one message of a queue. If the handler throws, the message is delivered again later. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the author names the payload's type
  message?(event: QueueMessage<any>, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /**
   * Receives messages in batches, if there is no `message` handler. If the handler throws, messages that are not
   * acknowledged are delivered again.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- the author names the payload's type
  queue?(batch: QueueBatch<any>, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /** Receives a due timer. If the handler throws, the timer is delivered again later. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the author names the payload's type
  timer?(event: TimerEvent<any>, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /** Runs when a `cron` schedule is due. */
  scheduled?(event: ScheduledEvent, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /** The handlers of workflows, by resource name; a function if there is no `onError`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each workflow has types of its own
  workflows?: Readonly<
    Record<string, WorkflowHandler<any, any, Env> | ((context: WorkflowContext<any, Env>) => unknown)>
  >;
}
