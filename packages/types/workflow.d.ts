// Durable workflows: `workflow` in platform.yaml.

/** Status of a run of a workflow. A run that sleeps or waits for an event is `pending`, and has a `startedAt`. */
export type WorkflowStatus = 'pending' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';

/** A run of a workflow. */
export interface WorkflowExecution<Input = unknown, Output = unknown> {
  readonly id: string;
  readonly status: WorkflowStatus;
  readonly input: Input;
  /** The handler's result; null until it is `completed`. */
  readonly output: Output | null;
  /** The reason if the run is `failed`; null otherwise. */
  readonly errorMessage: string | null;
  /** Milliseconds since 1970; null before it starts. */
  readonly startedAt: number | null;
  /** Milliseconds since 1970; null until it ends. */
  readonly completedAt: number | null;
}

/** Returned by `create` and `get`: an object for a run, compatible with other platforms. */
export interface WorkflowInstance {
  readonly id: string;
  status(): Promise<{
    status: 'queued' | 'running' | 'waiting' | 'paused' | 'complete' | 'errored' | 'terminated' | 'unknown';
    error?: { name: string; message: string };
    output?: unknown;
  }>;
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** The same as `cancel`, but throws if the run of a workflow class has already ended. */
  terminate(): Promise<void>;
  /** Runs the run again, from its beginning or from a step; `count` is 1 for the first step with the name. */
  restart(options?: { from?: { name: string; count?: number; type?: 'do' | 'sleep' | 'waitForEvent' } }): Promise<void>;
  /** Deletes the run with its history. */
  delete(): Promise<void>;
  sendEvent(event: { type: string; payload?: unknown }): Promise<void>;
}

/** A durable workflow (`workflow` in platform.yaml). */
export interface WorkflowBinding<Input = unknown, Output = unknown> {
  /**
   * Starts a run. A second call with the same `id` starts no run and returns the existing run.
   *
   * @example const { executionId } = await env.ORDER.trigger({ order: 7 }, { id: 'order-7' });
   */
  trigger(input: Input, options?: { id?: string }): Promise<{ executionId: string }>;
  /** A run by its id; null if it does not exist. */
  getExecution(id: string): Promise<WorkflowExecution<Input, Output> | null>;
  /** Runs, newest first, at most 1,000 per page (100 by default). */
  list(options?: { status?: WorkflowStatus; limit?: number; cursor?: string }): Promise<{
    executions: WorkflowExecution<Input, Output>[];
    cursor: string | null;
  }>;
  /**
   * Ends a run before its next step. Has no effect on a run that has ended. @throws if the run does not exist, like all
   * methods below.
   */
  cancel(id: string): Promise<void>;
  /** Pauses a run: its current step finishes, and no other step starts. */
  pause(id: string): Promise<void>;
  /** Resumes a paused run. */
  resume(id: string): Promise<void>;
  /**
   * Runs the run again on this deployment, from its beginning or from a given step: results of earlier steps are kept.
   */
  restart(id: string, options?: { fromStep?: string }): Promise<void>;
  /** Delivers an event to a run that waits for an event of this type, now or later. */
  sendEvent(id: string, event: { type: string; payload?: unknown }): Promise<void>;
  /** Starts a run, with the API of other platforms. @throws for a workflow class, if a run with the id exists. */
  create(options?: { id?: string; params?: Input }): Promise<WorkflowInstance>;
  /** Starts up to 100 runs, and lists those that were not started. */
  createBatch(
    batch: { instances: readonly { id?: string; params?: Input }[] } | { count: number; params?: Input },
  ): Promise<{
    created: WorkflowInstance[];
    errors: { index: number; id?: string; code: number; message: string }[];
  }>;
  /** Starts runs. For a workflow class, the result omits runs whose id already exists. */
  createBatch(list: readonly { id?: string; params?: Input }[]): Promise<WorkflowInstance[]>;
  /** Deletes up to 100 runs with their history. */
  deleteBatch(ids: readonly string[]): Promise<{
    deleted: { id: string }[];
    errors: { id: string; code: number; message: string }[];
  }>;
  /** @throws if the run does not exist. */
  get(id: string): Promise<WorkflowInstance>;
}

/** Options for failures of a step. */
export interface WorkflowStepOptions {
  /** Retries after the first attempt; 3 by default. */
  retries?: number;
  /** Timeout of an attempt in milliseconds; 120,000 by default. */
  timeoutMs?: number;
  /**
   * How the delay before the next attempt grows, from `delayMs` (a second): `exponential` by default, up to five
   * minutes.
   */
  backoff?: 'constant' | 'linear' | 'exponential' | { type?: 'constant' | 'linear' | 'exponential'; delayMs?: number };
}

/** A duration in milliseconds, or a text such as `5 minutes`. */
export type WorkflowDuration =
  | number
  | `${number} ${'second' | 'minute' | 'hour' | 'day' | 'week' | 'month' | 'year'}${'s' | ''}`;

/** The durable steps of a run. A completed step is not run again, whichever engine resumes the run. */
export interface WorkflowStep {
  /**
   * Runs a function once and stores its result (JSON). Give each step a unique name; a repeated name, as in a loop,
   * gets a number. An error named `NonRetryableError` is not retried.
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
  /** Waits for an event from `sendEvent`. @throws when `timeoutMs` passes first. */
  waitForEvent<Payload = unknown>(
    name: string,
    options: { type: string; timeoutMs?: number },
  ): Promise<{ type: string; payload: Payload }>;
}

/** Argument of a workflow's handler. */
export interface WorkflowContext<Input = unknown, Env = unknown> {
  /** Input given to `trigger`. */
  readonly input: Input;
  readonly step: WorkflowStep;
  /** Writes a line to the run's log; `data` is JSON. */
  log(message: string, data?: unknown): void;
  readonly env: Env;
  readonly executionId: string;
}

/** A workflow: `workflows.<resource name>` of a worker's default export. */
export interface WorkflowHandler<Input = unknown, Output = unknown, Env = unknown> {
  /** Runs the workflow; its result is the run's output. */
  handler(context: WorkflowContext<Input, Env>): Output | Promise<Output>;
  /** Runs once when the workflow has failed permanently. */
  onError?(error: Error, context: WorkflowContext<Input, Env>): void | Promise<void>;
}
