// The default export of a worker, and what its handlers receive.
import type { QueueBatch, QueueMessage } from './queue.d.ts';
import type { TimerEvent } from './timer.d.ts';
import type { WorkflowContext, WorkflowHandler } from './workflow.d.ts';

/** What a handler may do besides its answer. */
export interface ExecutionContext {
  /**
   * Keeps the invocation alive until a promise settles, also after the response was sent. It counts against the same
   * CPU and wall limits. A rejection is logged.
   *
   * @example ctx.waitUntil(env.MAIL.send({ to: 'ada@example.org' }));
   */
  waitUntil(promise: Promise<unknown>): void;
  /** When the handler throws, the static files answer the request instead of an error. */
  passThroughOnException(): void;
  /** Empty here: other platforms put properties of a binding's caller there, and their types ask for it. */
  readonly props: Record<string, unknown>;
}

/** Something that answers requests: the static files of the deployment (`env.<assets.binding>`). */
export interface Fetcher {
  /** Answers a request, as the global `fetch` does; only path and query of the URL matter. */
  fetch(input: RequestInfo | URL, init?: RequestInit): Promise<Response>;
}

/** A run of a schedule of `cron`. */
export interface ScheduledEvent {
  readonly type: 'scheduled';
  /** Its name in platform.yaml. */
  readonly name: string;
  /** The expression, as in platform.yaml. */
  readonly cron: string;
  /** When the run was due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  /** A failure of this run is not tried again. */
  noRetry(): void;
}

/**
 * The default export of a worker. Use it with `satisfies`, so that arguments get their types and nothing is lost.
 *
 * @example
 * export default {
 *   async fetch(request, env, ctx) {
 *     return new Response(`Hello ${env.vars.NAME}`);
 *   },
 * } satisfies PlatformWorker<PlatformEnv>;
 */
export interface PlatformWorker<Env = unknown> {
  /** Answers an HTTP request. */
  fetch?(request: Request, env: Env, ctx: ExecutionContext): Response | Promise<Response>;
  /** Receives one message of a queue. Throwing delivers it again later. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the author names the payload's type
  message?(event: QueueMessage<any>, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /**
   * Receives messages in batches, where there is no `message`. Throwing delivers those again that are not acknowledged.
   */
  // oxlint-disable-next-line typescript/no-explicit-any -- the author names the payload's type
  queue?(batch: QueueBatch<any>, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /** Receives a timer that is due. Throwing delivers it again later. */
  // oxlint-disable-next-line typescript/no-explicit-any -- the author names the payload's type
  timer?(event: TimerEvent<any>, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /** Runs when a schedule of `cron` is due. */
  scheduled?(event: ScheduledEvent, env: Env, ctx: ExecutionContext): void | Promise<void>;
  /** The handlers of workflows, by resource name; a function where there is no `onError`. */
  // oxlint-disable-next-line typescript/no-explicit-any -- each workflow has types of its own
  workflows?: Readonly<
    Record<string, WorkflowHandler<any, any, Env> | ((context: WorkflowContext<any, Env>) => unknown)>
  >;
}
