// One attempt at a run of a workflow: calls its function or its class from the beginning. lazy.ts loads this module
// when it is first used; workflow/ has its parts.
import type { LazyDeps } from '../lazy.ts';
import type { EventHandler } from '../dispatch.ts';
import { beginAttempt, mismatch, type Attempt, type KnownStep } from './workflow/attempt.ts';
import { runClass, type Entrypoint } from './workflow/class-workflow.ts';
import { toMs } from './workflow/durations.ts';
import { namedError, toFailure } from './workflow/failures.ts';
import { toOptions } from './workflow/step-options.ts';

interface WorkflowEvent {
  readonly workflow: string;
  readonly executionId: string;
  /** Lease of this attempt, sent with its updates. */
  readonly lease: string;
  /** When the run was started, ms since 1970; absent in an event that an operator injected. */
  readonly createdAt?: number;
  /** The following two fields are in the body, unless an operator injected the event. */
  readonly input: unknown;
  readonly steps: Readonly<Record<string, KnownStep>>;
}

type Handler = (context: object) => unknown;

/** What a worker exports for a workflow. */
interface Exported {
  readonly handler?: Handler;
  readonly onError?: (error: unknown, context: object) => unknown;
  /** The class that platform.yaml names. */
  readonly entrypoint?: Entrypoint;
}

export default function createWorkflowEvents(deps: LazyDeps): { handle: EventHandler } {
  const { clearTimeout, fromJson, noHandler, setTimeout, useModule } = deps;
  const { fromStored, toStored } = useModule('stored-values');

  const wait = (ms: number, error: () => Error): { late: Promise<never>; clear(): void } => {
    let timer: unknown;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(error()), ms);
    });
    return { late, clear: () => clearTimeout(timer as never) };
  };

  return {
    async handle(worker, env, executionContext, event, [body]) {
      const { workflow, executionId, lease, createdAt } = event as WorkflowEvent;
      const { input: given, steps } = (body === undefined ? event : fromJson(body)) as Pick<
        WorkflowEvent,
        'input' | 'steps'
      >;
      const input = fromStored(given);
      const workflows = worker?.['workflows'] as Readonly<Record<string, Exported | Handler>> | undefined;
      const found = workflows != null && Object.hasOwn(workflows, workflow) ? workflows[workflow] : undefined;
      const { handler, onError, entrypoint } = (
        typeof found === 'function' ? { handler: found } : (found ?? {})
      ) as Exported;
      if (typeof handler !== 'function' && typeof entrypoint !== 'function')
        throw noHandler(`workflows.${workflow}.handler`);

      const attempt = beginAttempt(deps, lease, steps);
      const context = { input, payload: input, step: stepsOf(attempt), env, executionId, log: attempt.log };
      const run =
        typeof entrypoint === 'function'
          ? () => {
              const started = { workflow, executionId, payload: input, createdAt: createdAt ?? Date.now() };
              return runClass(entrypoint, executionContext, env, started, attempt, wait);
            }
          : async () => {
              const output = await (handler as Handler).call(found, context);
              const untaken = attempt.untaken();
              if (untaken.length > 0)
                throw mismatch(`the handler ended without ${untaken.map((name) => `"${name}"`).join(', ')}`);
              return output;
            };
      const finished = (async () => {
        try {
          const output = await run();
          return { status: 'completed', output: output === undefined ? null : toStored(output) };
        } catch (error) {
          if (typeof onError === 'function') await onError.call(found, error, context);
          const { name, message } = toFailure(error);
          return { status: 'failed', error: { name, message } };
        }
      })();
      const result = await Promise.race([finished, attempt.over]);
      await attempt.logged();
      return result;
    },
  };
}

/** `step` of a function. */
function stepsOf(attempt: Attempt): object {
  const step = {
    async run(given: unknown, second: unknown, third?: unknown): Promise<unknown> {
      const [fn, options] = (typeof second === 'function' ? [second, third] : [third, second]) as [
        () => unknown,
        unknown,
      ];
      if (typeof fn !== 'function') throw new TypeError('step.run takes a name and a function');
      const taken = attempt.take(given, 'run');
      return attempt.run(
        taken,
        () => fn(),
        toOptions(options),
        (ms) => namedError('TimeoutError', `Step "${taken.key}" did not end within ${ms} ms`),
      );
    },
    do: (name: unknown, second: unknown, third?: unknown): Promise<unknown> => step.run(name, second, third),
    /** Accepts `sleep(ms)`, and `sleep(name, ms | '5 minutes')` as on other platforms. */
    async sleep(first: unknown, second?: unknown): Promise<void> {
      const ms = toMs(second === undefined ? first : second);
      await attempt.sleep(attempt.take(second === undefined ? 'sleep' : first, 'sleep'), () => Date.now() + ms);
    },
    async sleepUntil(first: unknown, second?: unknown): Promise<void> {
      const time = second === undefined ? first : second;
      const at = time instanceof Date ? time.getTime() : time;
      if (typeof at !== 'number' || !Number.isFinite(at))
        throw new TypeError('sleepUntil takes a Date or milliseconds since 1970');
      await attempt.sleep(attempt.take(second === undefined ? 'sleep' : first, 'sleep'), () => at);
    },
    async waitForEvent(
      given: unknown,
      options: { type: string; timeoutMs?: number; timeout?: unknown },
    ): Promise<unknown> {
      const taken = attempt.take(given, 'event');
      const limitMs = options?.timeoutMs ?? (options?.timeout === undefined ? undefined : toMs(options.timeout));
      return attempt.waitForEvent(taken, options?.type, limitMs);
    },
  };
  return step;
}
