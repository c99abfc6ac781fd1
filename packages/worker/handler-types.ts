// The types of event handlers: options of queues, workflows, timers and schedules, and arguments of their handlers.
// No code.
import type {
  QueueMessageLike,
  ScheduledEventLike,
  TimerEventLike,
  WorkflowContextLike,
  WorkflowStepLike,
} from './event-types.ts';
import type { BaseContext, ExecutionLike } from './route-types.ts';
import type { Schema } from './schema-types.ts';

/** Argument of a queue's handler. */
export interface QueueContext<Env, State, Payload> extends BaseContext<Env, State> {
  /** The sent value, as parsed by the schema. */
  readonly payload: Payload;
  /** The original message. */
  readonly message: QueueMessageLike;
  readonly id: string;
  readonly queueName: string;
  /** 1 for the first delivery. */
  readonly attempt: number;
  /** Acknowledges the message, even if the handler throws afterwards. */
  ack(): void;
  /** Requests another delivery. */
  retry(options?: { delaySeconds?: number }): void;
}

/** Argument of a workflow's handler. */
export interface WorkflowContext<Env, State, Input> extends BaseContext<Env, State> {
  /** Input of the run, as parsed by the schema. */
  readonly input: Input;
  readonly step: WorkflowStepLike;
  /** Writes a line to the run's log. */
  log(message: string, data?: unknown): void;
  readonly executionId: string;
}

/** Argument of a timer's handler. */
export interface TimerContext<Env, State, Payload> extends BaseContext<Env, State> {
  readonly payload: Payload;
  readonly id: string;
  /** When the schedule was due, in milliseconds since 1970. */
  readonly scheduledTime: number;
  /** The original event. */
  readonly event: TimerEventLike;
}

/** Argument of a schedule's handler. */
export interface ScheduledContext<Env, State> extends BaseContext<Env, State> {
  readonly cron: string;
  readonly scheduledTime: number;
  /** This run is not retried if it fails. */
  noRetry(): void;
  readonly event: ScheduledEventLike;
}

/** Options of a queue. */
export interface QueueOptions {
  /** Schema of a message. An invalid message is not handled: it fails, is retried and ends in the dead-letter queue. */
  readonly payload?: Schema;
}

/** Options of a workflow. */
export interface WorkflowOptions<Env = unknown, State = unknown> {
  readonly input?: Schema;
  readonly output?: Schema;
  /** Runs once when the workflow has failed permanently. */
  readonly onError?: (error: Error, ctx: WorkflowContext<Env, State, unknown>) => void | Promise<void>;
}

/** Options of a timer. */
export interface TimerOptions {
  readonly payload?: Schema;
}

/** The handlers besides `fetch`, by their export names. */
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
