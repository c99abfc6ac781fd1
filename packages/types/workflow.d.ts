// Durable workflows: `workflow` in platform.yaml.

/** Where a run of a workflow stands. One that sleeps or waits for an event is `pending`, and has a `startedAt`. */
export type WorkflowStatus = 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** A run of a workflow. */
export interface WorkflowExecution<Input = unknown, Output = unknown> {
  readonly id: string;
  readonly status: WorkflowStatus;
  readonly input: Input;
  /** What the handler returned; null until it is `completed`. */
  readonly output: Output | null;
  /** Why it is `failed`; null otherwise. */
  readonly errorMessage: string | null;
  /** Milliseconds since 1970; null before it starts. */
  readonly startedAt: number | null;
  /** Milliseconds since 1970; null until it ends. */
  readonly completedAt: number | null;
}

/** What `create` and `get` give: an object that stands for a run, as workers of other platforms know it. */
export interface WorkflowInstance {
  readonly id: string;
  status(): Promise<{
    status: 'queued' | 'running' | 'waiting' | 'paused' | 'complete' | 'errored' | 'terminated' | 'unknown';
    error?: { name: string; message: string };
    output?: unknown;
  }>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** The same as `cancel`. */
  terminate(): Promise<void>;
  restart(): Promise<void>;
  sendEvent(event: { type: string; payload?: unknown }): Promise<void>;
}

/** A durable workflow (`workflow` in platform.yaml). */
export interface WorkflowBinding<Input = unknown, Output = unknown> {
  /**
   * Starts a run. A second call with the same `id` starts nothing and returns the run that exists.
   *
   * @example const { executionId } = await env.ORDER.trigger({ order: 7 }, { id: 'order-7' });
   */
  trigger(input: Input, options?: { id?: string }): Promise<{ executionId: string }>;
  /** A run by its id; null when there is none. */
  getExecution(id: string): Promise<WorkflowExecution<Input, Output> | null>;
  /** Runs, the newest first, at most 1,000 a page (100 by default). */
  list(options?: { status?: WorkflowStatus; limit?: number; cursor?: string }): Promise<{
    executions: WorkflowExecution<Input, Output>[];
    cursor: string | null;
  }>;
  /**
   * Ends a run before its next step. One that has ended stays as it is. @throws when there is no such run, as all
   * below.
   */
  cancel(id: string): Promise<void>;
  /** Lets the step that runs end, and begins no other. */
  pause(id: string): Promise<void>;
  /** Goes on with a run that is paused. */
  resume(id: string): Promise<void>;
  /** Runs it again on this deployment, from its beginning or from a step on: what steps before that returned stays. */
  restart(id: string, options?: { fromStep?: string }): Promise<void>;
  /** Delivers an event to a run that waits for one of this type, now or later. */
  sendEvent(id: string, event: { type: string; payload?: unknown }): Promise<void>;
  /** Starts a run as workers of other platforms do. */
  create(options?: { id?: string; params?: Input }): Promise<WorkflowInstance>;
  createBatch(list: readonly { id?: string; params?: Input }[]): Promise<WorkflowInstance[]>;
  /** @throws when there is no such run. */
  get(id: string): Promise<WorkflowInstance>;
}

/** How a step behaves when it fails. */
export interface WorkflowStepOptions {
  /** Further attempts after the first; 3 by default. */
  retries?: number;
  /** Milliseconds an attempt may take; 120,000 by default. */
  timeoutMs?: number;
  /**
   * How the wait before the next attempt grows, from `delayMs` (a second): `exponential` by default, to five minutes at
   * most.
   */
  backoff?: 'constant' | 'linear' | 'exponential' | { type?: 'constant' | 'linear' | 'exponential'; delayMs?: number };
}

/** A time in milliseconds, or a text such as `5 minutes`. */
export type WorkflowDuration = number | `${number} ${'second' | 'minute' | 'hour' | 'day' | 'week'}${'s' | ''}`;

/** The durable steps of a run. A step that returned is not run again, whichever engine resumes the run. */
export interface WorkflowStep {
  /**
   * Runs a function once and stores what it returns (JSON). A name stands for one step: give each its own; one that
   * comes again, as in a loop, is counted. An error named `NonRetryableError` is not tried again.
   *
   * @example const user = await step.run('load user', () => loadUser(input.id));
   */
  run<Result>(name: string, fn: () => Result | Promise<Result>, options?: WorkflowStepOptions): Promise<Result>;
  /** The same as `run`, with the options of other platforms. */
  do<Result>(name: string, fn: () => Result | Promise<Result>): Promise<Result>;
  do<Result>(
    name: string,
    options: {
      retries?: { limit: number; delay?: WorkflowDuration; backoff?: 'constant' | 'linear' | 'exponential' };
      timeout?: WorkflowDuration;
    },
    fn: () => Result | Promise<Result>,
  ): Promise<Result>;
  /** Pauses the run, without using CPU or memory. */
  sleep(time: WorkflowDuration): Promise<void>;
  sleep(name: string, time: WorkflowDuration): Promise<void>;
  /** Pauses the run until a date, or a time in milliseconds since 1970. */
  sleepUntil(time: Date | number): Promise<void>;
  sleepUntil(name: string, time: Date | number): Promise<void>;
  /** Waits for an event of `sendEvent`. @throws when `timeoutMs` passes first. */
  waitForEvent<Payload = unknown>(
    name: string,
    options: { type: string; timeoutMs?: number },
  ): Promise<{ type: string; payload: Payload }>;
}

/** What the handler of a workflow receives. */
export interface WorkflowContext<Input = unknown, Env = unknown> {
  /** What `trigger` was given. */
  readonly input: Input;
  readonly step: WorkflowStep;
  /** Writes a line to the run's log; `data` is JSON. */
  log(message: string, data?: unknown): void;
  readonly env: Env;
  readonly executionId: string;
}

/** A workflow: `workflows.<resource name>` of a worker's default export. */
export interface WorkflowHandler<Input = unknown, Output = unknown, Env = unknown> {
  /** Runs the workflow; what it returns is the run's output. */
  handler(context: WorkflowContext<Input, Env>): Output | Promise<Output>;
  /** Runs once when the workflow has failed for good. */
  onError?(error: Error, context: WorkflowContext<Input, Env>): void | Promise<void>;
}
