// The types of handlers of events: what queues, workflows, timers and schedules declare, and what their handlers
// receive. No code.
import type {
  QueueMessageLike,
  ScheduledEventLike,
  TimerEventLike,
  WorkflowContextLike,
  WorkflowStepLike,
} from './event-types.ts';
import type { BaseContext, ExecutionLike } from './route-types.ts';
import type { Schema } from './schema-types.ts';

/** What a queue's handler receives. */
export interface QueueContext<Env, State, Payload> extends BaseContext<Env, State> {
  /** What was sent, as the schema made it. */
  readonly payload: Payload;
  /** The message as it came. */
  readonly message: QueueMessageLike;
  readonly id: string;
  readonly queueName: string;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** Takes the message as done, even if the handler throws afterwards. */
  ack(): void;
  /** Asks for another delivery. */
  retry(options?: { delaySeconds?: number }): void;
}

/** What a workflow's handler receives. */
export interface WorkflowContext<Env, State, Input> extends BaseContext<Env, State> {
  /** What the run was started with, as the schema made it. */
  readonly input: Input;
  readonly step: WorkflowStepLike;
  /** Writes a line to the run's log. */
  log(message: string, data?: unknown): void;
  readonly executionId: string;
}

/** What a timer's handler receives. */
export interface TimerContext<Env, State, Payload> extends BaseContext<Env, State> {
  readonly payload: Payload;
  readonly id: string;
  /** When it was due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  /** The event as it came. */
  readonly event: TimerEventLike;
}

/** What the handler of a schedule receives. */
export interface ScheduledContext<Env, State> extends BaseContext<Env, State> {
  readonly cron: string;
  readonly scheduledTime: number;
  /** A failure of this run is not tried again. */
  noRetry(): void;
  readonly event: ScheduledEventLike;
}

/** What a queue declares. */
export interface QueueOptions {
  /**
   * Schema of a message. One that does not fit is not handled: it fails, is tried again and ends in the dead-letter
   * queue.
   */
  readonly payload?: Schema;
}

/** What a workflow declares. */
export interface WorkflowOptions<Env = unknown, State = unknown> {
  readonly input?: Schema;
  readonly output?: Schema;
  /** Runs once when the workflow has failed for good. */
  readonly onError?: (error: Error, ctx: WorkflowContext<Env, State, unknown>) => void | Promise<void>;
}

/** What a timer declares. */
export interface TimerOptions {
  readonly payload?: Schema;
}

/** The handlers besides `fetch`, by the name a worker exports them under. */
export interface EventHandlers<Env> {
  message(event: QueueMessageLike, env: Env, ctx?: ExecutionLike): Promise<void>;
  timer(event: TimerEventLike, env: Env, ctx?: ExecutionLike): Promise<void>;
  scheduled(event: ScheduledEventLike, env: Env, ctx?: ExecutionLike): Promise<void>;
  readonly workflows: Readonly<
    Record<
      string,
      {
        handler(context: WorkflowContextLike<Env>): Promise<unknown>;
        onError?(error: Error, context: WorkflowContextLike<Env>): Promise<void>;
      }
    >
  >;
}
