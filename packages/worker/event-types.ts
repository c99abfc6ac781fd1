// Events besides requests, as the platform delivers them. The types are declared here again, so that this package does
// not depend on the package that defines them. No code.

/** A message of a queue. */
export interface QueueMessageLike {
  readonly id: string;
  /** Resource name of the queue. */
  readonly queueName: string;
  /** Name of the queue in `env`, if known. */
  readonly binding?: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- the author's schema determines the type
  readonly payload: any;
  readonly attempt: number;
  readonly timestamp: number;
  ack(): void;
  retry(options?: { delaySeconds?: number }): void;
}

/** A timer that is due. */
export interface TimerEventLike {
  readonly id: string;
  /** Name of the timer in `env`, if known. */
  readonly binding?: string;
  readonly scheduledTime: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- the author's schema determines the type
  readonly payload: any;
}

/** A schedule that is due. */
export interface ScheduledEventLike {
  readonly cron: string;
  /** Name in platform.yaml, if known. */
  readonly name?: string;
  readonly scheduledTime: number;
  noRetry(): void;
}

/** The durable steps of a run. */
export interface WorkflowStepLike {
  /**
   * Runs a function once and stores its result (JSON). @example const user = await step.run('load', () =>
   * load(input.id));
   */
  run<Result>(
    name: string,
    fn: () => Result | Promise<Result>,
    options?: { retries?: number; timeoutMs?: number },
  ): Promise<Result>;
  /** Pauses the run for some milliseconds. */
  sleep(milliseconds: number): Promise<void>;
  /** Pauses the run until a date, or a time in milliseconds since 1970. */
  sleepUntil(time: Date | number): Promise<void>;
  /** Waits for an event. */
  waitForEvent<Payload = unknown>(
    name: string,
    options: { type: string; timeoutMs?: number },
  ): Promise<{ type: string; payload: Payload }>;
}

/** Argument of a workflow. */
export interface WorkflowContextLike<Env> {
  // oxlint-disable-next-line typescript/no-explicit-any -- the author's schema determines the type
  readonly input: any;
  readonly step: WorkflowStepLike;
  log(message: string, data?: unknown): void;
  readonly env: Env;
  readonly executionId: string;
}
