// Workflows as classes: calls `run(event, step)` of a class that extends WorkflowEntrypoint. Implements the steps,
// defaults and errors of Cloudflare's API with the steps of attempt.ts.
import type { Attempt, TakenStep } from './attempt.ts';
import { toMs } from './durations.ts';
import { namedError, toFailure } from './failures.ts';
import { toClassOptions, type ClassStepConfig, type StepOptions } from './step-options.ts';

/** A class, as the worker exports it. */
export type Entrypoint = new (context: unknown, env: unknown) => { run?: unknown };

/** A run, as its class sees it. */
interface ClassRun {
  readonly workflow: string;
  readonly executionId: string;
  readonly payload: unknown;
  /** ms since 1970. */
  readonly createdAt: number;
}

/** The function that rolls a step back after a failed run. */
interface Rollback {
  readonly key: string;
  readonly name: string;
  readonly count: number;
  readonly attempt: number;
  readonly config: ClassStepConfig;
  readonly undo: (context: object) => unknown;
  readonly options: StepOptions;
  output: unknown;
}

type Callback = (context: object) => unknown;

const EVENT_WAIT_DEFAULT = '24 hours';
const DELAY_FUNCTION_MS = 5000;
const ROLLBACK_PREFIX = 'rollback:';

/**
 * Runs a new instance of the class once.
 *
 * @param wait returns a promise that rejects after this time
 */
export async function runClass(
  Class: Entrypoint,
  context: unknown,
  env: unknown,
  { workflow, executionId, payload, createdAt }: ClassRun,
  attempt: Attempt,
  wait: (ms: number, error: () => Error) => { readonly late: Promise<never>; readonly clear: () => void },
): Promise<unknown> {
  const rollbacks: Rollback[] = [];
  let isRollback = false;

  const take = (name: unknown, kind: 'run' | 'sleep' | 'event'): TakenStep => {
    if (isRollback) throw new Error('Steps cannot run during a rollback');
    return attempt.take(name, kind);
  };
  const timedOut = (ms: number): Error => namedError('WorkflowTimeoutError', `Execution timed out after ${ms}ms`);

  /** The options of a step; its delay function may take five seconds. */
  const optionsOf = (given: unknown, name: string, count: number): ReturnType<typeof toClassOptions> => {
    const made = toClassOptions(given, async (delay, failed, error) => {
      const reject = (reason: string): Error =>
        namedError('NonRetryableDelayError', `The delay function of step "${name}" ${reason}`);
      const limit = wait(DELAY_FUNCTION_MS, () => reject('did not return within 5 seconds'));
      const ctx = { step: { name, count }, attempt: failed + 1, config: made.config };
      try {
        const value = await Promise.race([delay({ ctx, error }), limit.late]);
        try {
          return toMs(value);
        } catch (invalid) {
          throw reject(`returned an invalid delay: ${toFailure(invalid).message}`);
        }
      } catch (thrown) {
        if (toFailure(thrown).name === 'NonRetryableDelayError') throw thrown;
        throw reject(`threw an error: ${toFailure(thrown).message}`);
      } finally {
        limit.clear();
      }
    });
    return made;
  };

  /** The options that follow the callback of a step. */
  const toRollback = (given: unknown, taken: TakenStep, name: string, config: ClassStepConfig): Rollback => {
    const { rollback, rollbackConfig } = (given ?? {}) as { rollback?: unknown; rollbackConfig?: unknown };
    if (typeof rollback !== 'function') throw new TypeError(`The rollback of step "${name}" must be a function`);
    const { key, count, known } = taken;
    const { options } = optionsOf(rollbackConfig, name, count);
    const undo = rollback as Rollback['undo'];
    return { key, name, count, attempt: (known?.attempts ?? 0) + 1, config, undo, options, output: undefined };
  };

  const step = {
    async do(given: unknown, second: unknown, third?: unknown, fourth?: unknown): Promise<unknown> {
      const [callback, given_, rollback] = (
        typeof second === 'function' ? [second, undefined, third] : [third, second, fourth]
      ) as [Callback, unknown, unknown];
      if (typeof callback !== 'function') throw new TypeError('step.do takes a name and a function');
      const name = String(given);
      const taken = take(given, 'run');
      const { config, options } = optionsOf(given_, name, taken.count);
      const contextOf = (number: number): object => ({
        step: { name, count: taken.count },
        attempt: number,
        config,
      });
      const registered = rollback === undefined ? null : toRollback(rollback, taken, name, config);
      if (registered !== null) rollbacks.push(registered);
      const result = await attempt.run(taken, (number) => callback(contextOf(number)), options, timedOut);
      if (registered !== null) registered.output = result;
      return result;
    },
    async sleep(name: unknown, duration: unknown): Promise<void> {
      const ms = toMs(duration);
      await attempt.sleep(take(name, 'sleep'), () => Date.now() + ms);
    },
    async sleepUntil(name: unknown, time: unknown): Promise<void> {
      const at = time instanceof Date ? time.getTime() : time;
      if (typeof at !== 'number' || !Number.isFinite(at))
        throw new TypeError('sleepUntil takes a name and a Date or milliseconds since 1970');
      await attempt.sleep(take(name, 'sleep'), () => at);
    },
    async waitForEvent(name: unknown, given: unknown): Promise<object> {
      const { type, timeout = EVENT_WAIT_DEFAULT } = (given ?? {}) as { type?: unknown; timeout?: unknown };
      if (typeof type !== 'string') throw new TypeError('waitForEvent takes a name and { type, timeout }');
      const ms = toMs(timeout);
      try {
        const event = await attempt.waitForEvent(take(name, 'event'), type, ms);
        return { payload: event.payload, timestamp: new Date(event.timestamp), type: event.type };
      } catch (error) {
        throw toFailure(error).name === 'TimeoutError' ? timedOut(ms) : error;
      }
    },
  };

  const rollBack = async (error: unknown): Promise<void> => {
    isRollback = true;
    for (let index = rollbacks.length - 1; index >= 0; index--) {
      const { key, name, count, undo, options, output, config, attempt: number } = rollbacks[index]!;
      const ctx = { step: { name, count }, attempt: number, config };
      try {
        const taken = attempt.take(`${ROLLBACK_PREFIX}${key}`, 'run');
        const undone = (): unknown => undo({ ctx, error, output, stepName: `${name}-${count}` });
        await attempt.run(taken, undone, options, timedOut);
      } catch {
        // The first function that fails ends the rollback; the run keeps its own error.
        return;
      }
    }
  };

  const instance = new Class(context, env);
  if (typeof instance.run !== 'function')
    throw new TypeError(`The class ${Class.name} of the workflow ${workflow} has no method run`);
  const event = { payload, timestamp: new Date(createdAt), instanceId: executionId, workflowName: workflow };
  try {
    return (await (instance.run as (event: object, step: object) => unknown)(event, step)) as unknown;
  } catch (error) {
    if (rollbacks.length > 0) await rollBack(error);
    throw error;
  }
}
