// Durable workflows: `workflow` in platform.yaml.

/** Where a run of a workflow stands. */
export type WorkflowStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled';

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
  /** Ends a run before its next step. */
  cancel(id: string): Promise<void>;
  /** Delivers an event to a run that waits for one of this type, now or later. */
  sendEvent(id: string, event: { type: string; payload?: unknown }): Promise<void>;
}

/** How a step behaves when it fails. */
export interface WorkflowStepOptions {
  /** Further attempts after the first; 3 by default. */
  retries?: number;
  /** Milliseconds an attempt may take; 120,000 by default. */
  timeoutMs?: number;
}

/** The durable steps of a run. What a step returned is stored; when the run goes on elsewhere it is not run again. */
export interface WorkflowStep {
  /**
   * Runs a function once and stores what it returns (JSON). A name stands for one step: give each its own.
   *
   * @example const user = await step.run('load user', () => loadUser(input.id));
   */
  run<Result>(name: string, fn: () => Result | Promise<Result>, options?: WorkflowStepOptions): Promise<Result>;
  /** Pauses the run for some milliseconds, without using CPU. */
  sleep(milliseconds: number): Promise<void>;
  /** Pauses the run until a date, or a time in milliseconds since 1970. */
  sleepUntil(time: Date | number): Promise<void>;
  /** Waits for an event of `sendEvent`. @throws when `timeoutMs` passes first. */
  waitForEvent<Payload = unknown>(name: string, options: { type: string; timeoutMs?: number }): Promise<{ type: string; payload: Payload }>;
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
