// The steps of one attempt at a workflow run. Completed steps return their stored results, other steps run, and each
// result is durable on the host before the handler continues. The attempt is over when its handler has ended, or when
// it only waits for time or an event. The two kinds of handlers are in ../workflow.ts and class-workflow.ts.
import type { LazyDeps } from '../../lazy.ts';
import { isNonRetryable, namedError, toError, toFailure, type Failure } from './failures.ts';
import type { StepOptions } from './step-options.ts';

/** State of a step on the host. */
export interface KnownStep {
  readonly kind: StepKind;
  /** `waiting` means that the step sleeps, or waits for an event or for a retry. */
  readonly status: 'done' | 'failed' | 'waiting';
  readonly result?: unknown;
  readonly error?: Failure;
  /** Attempts that failed. */
  readonly attempts?: number;
  /** When the run continues, in ms since 1970; absent if only an event can resume it. */
  readonly wakeAt?: number;
}

type StepKind = 'run' | 'sleep' | 'event';

/** Identifies a step. */
export interface TakenStep {
  /** The name of the step, unique in the run. */
  readonly key: string;
  /** The number of the step among those with the same name, from 1. */
  readonly count: number;
  readonly known: KnownStep | undefined;
}

/** An event of `sendEvent`. */
interface ReceivedEvent {
  readonly type: string;
  readonly payload: unknown;
  /** ms since 1970. */
  readonly timestamp: number;
}

/** The steps of an attempt. */
export interface Attempt {
  /** Reserves the name of the next step: a repeated name, as in a loop, gets a number. */
  take(name: unknown, kind: StepKind): TakenStep;
  /**
   * Runs the function of a step, unless it has run before. @param timedOut the error of an attempt that takes too long
   */
  run(
    step: TakenStep,
    fn: (attempt: number) => unknown,
    options: StepOptions,
    timedOut: (timeoutMs: number) => Error,
  ): Promise<unknown>;
  /** @param until computes when the sleep ends, if it has not begun */
  sleep(step: TakenStep, until: () => number): Promise<void>;
  /** @throws the stored error, if the time limit has passed */
  waitForEvent(step: TakenStep, type: unknown, limitMs: number | undefined): Promise<ReceivedEvent>;
  log(message: unknown, data: unknown): void;
  /** Stored steps that the handler has not reached. */
  untaken(): string[];
  /** Resolves with the result of the attempt if its handler does not end. */
  readonly over: Promise<object>;
  /** Resolves when all lines are logged. */
  logged(): Promise<unknown>;
}

/** The longest wait that the host accepts. */
const DELAY_MS_MAX = 365 * 86_400_000;
/** How long a handler may take between two steps while another step sleeps. */
const IDLE_MS = 1000;
/** The host checks this, too, but this check runs before a step instead of afterwards. */
const NAME_BYTES_MAX = 256;

/** Begins an attempt with its lease. */
export function beginAttempt(deps: LazyDeps, lease: string, steps: Readonly<Record<string, KnownStep>>): Attempt {
  const { callHost, clearTimeout, setImmediate, setTimeout, useModule } = deps;
  const { fromStored, toStored } = useModule('stored-values');
  const visited = new Set<string>();
  const uses = new Map<string, number>();
  let unseen = Object.keys(steps).length;
  let running = 0;
  /** Steps that wait for time or an event longer than this attempt lasts. */
  let asleep = 0;
  let suspend: (result: object) => void;
  let abandon: (error: unknown) => void;
  const over = new Promise<object>((resolve, reject) => {
    suspend = resolve;
    abandon = reject;
  });
  const lines: Promise<unknown>[] = [];

  const update = async (
    name: 'stepDone' | 'stepFailed' | 'sleep' | 'waitForEvent',
    args: Readonly<Record<string, unknown>>,
  ): Promise<{ ended?: string; step?: KnownStep }> => {
    let answer: { ended?: string; step?: KnownStep };
    running++;
    try {
      answer = ((await callHost(`workflow.${name}`, { lease, ...args })).value ?? {}) as typeof answer;
    } catch (error) {
      if (toFailure(error).code === 'invalid_argument') throw error;
      // The database is unavailable, so it is unknown whether the update was stored. This is not an error of the
      // handler: the run continues from its stored state.
      abandon(error);
      return new Promise(() => {});
    } finally {
      running--;
    }
    // Called when the run was cancelled or paused: further results of this attempt are ignored.
    if (answer.ended !== undefined) {
      suspend({ status: 'suspended' });
      await new Promise(() => {});
    }
    return answer;
  };

  /** Called when the handler does not resume in this attempt, which ends when nothing else runs. */
  const sleepOn = (): Promise<never> => {
    asleep++;
    settle();
    return new Promise(() => {});
  };
  const suspendIfIdle = (): void => {
    if (asleep > 0 && running === 0) suspend({ status: 'suspended' });
  };
  // The handler may start other steps next, so it gets a tick of time first, and more time if a step has just ended.
  const settle = (): void => {
    if (asleep > 0 && running === 0) setImmediate(suspendIfIdle);
  };
  const endStep = (): void => {
    running--;
    if (asleep > 0 && running === 0) setTimeout(suspendIfIdle, IDLE_MS);
  };

  const checkName = (name: unknown): string => {
    if (typeof name !== 'string' || name === '') throw new TypeError('A step must have a name');
    const bytes = utf8Bytes(name);
    if (bytes > NAME_BYTES_MAX)
      throw new TypeError(`The name of a step has ${bytes} bytes, and may have ${NAME_BYTES_MAX}`);
    if (name.includes('\0')) throw new TypeError('The name of a step must not contain NUL');
    return name;
  };

  /** The error is not retried, because a retry would return the same. */
  const stepResult = (name: string, result: unknown): unknown => {
    try {
      return toStored(result);
    } catch (error) {
      throw namedError(
        'NonRetryableError',
        `The result of step "${name}" cannot be stored: ${toFailure(error).message}`,
      );
    }
  };

  const attempt = async (
    key: string,
    fn: (attempt: number) => unknown,
    { retries, timeoutMs, delayOf }: StepOptions,
    failed: number,
    timedOut: (timeoutMs: number) => Error,
  ): Promise<unknown> => {
    let timer: unknown;
    const startedAt = Date.now();
    running++;
    try {
      const timeout = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(timedOut(timeoutMs)), timeoutMs);
      });
      const result = await Promise.race([fn(failed + 1), timeout]);
      clearTimeout(timer as never);
      await update('stepDone', { name: key, startedAt, result: stepResult(key, result) });
      return result;
    } catch (error) {
      clearTimeout(timer as never);
      let reason = error;
      let wakeAt: number | null = null;
      if (!isNonRetryable(error) && toFailure(error).code !== 'invalid_argument' && failed < retries) {
        try {
          wakeAt = Date.now() + Math.min(await delayOf(failed, error), DELAY_MS_MAX);
        } catch (delayError) {
          reason = delayError;
        }
      }
      const { name, message } = toFailure(reason);
      await update('stepFailed', { startedAt, name: key, error: { name, message }, attempts: failed + 1, wakeAt });
      if (wakeAt === null) throw reason;
    } finally {
      endStep();
    }
    return sleepOn();
  };

  return {
    take(given, kind) {
      const name = checkName(given);
      let count = (uses.get(name) ?? 0) + 1;
      let key = count === 1 ? name : `${name}#${count}`;
      // The name of another step may contain the same number.
      while (visited.has(key)) key = `${name}#${(count += 1)}`;
      uses.set(name, count);
      const known = Object.hasOwn(steps, key) ? steps[key] : undefined;
      if (known !== undefined && known.kind !== kind)
        throw mismatch(`step "${key}" was of kind ${known.kind} before and is of kind ${kind} now`);
      if (known !== undefined) unseen--;
      visited.add(key);
      return { key: checkName(key), count, known };
    },
    async run({ key, known }, fn, options, timedOut) {
      if (known?.status === 'done') return fromStored(known.result);
      if (known?.status === 'failed') throw toError(known.error);
      if (known?.wakeAt !== undefined && known.wakeAt > Date.now()) return sleepOn();
      return attempt(key, fn, options, known?.attempts ?? 0, timedOut);
    },
    async sleep({ key, known }, until) {
      if (known?.status === 'done') return;
      if (known === undefined) {
        const wakeAt = Math.round(until());
        await update('sleep', { name: key, wakeAt });
        if (wakeAt <= Date.now()) return;
      } else if (known.wakeAt !== undefined && known.wakeAt <= Date.now()) return;
      await sleepOn();
    },
    async waitForEvent({ key, known }, type, limitMs) {
      const received = (result: unknown): ReceivedEvent => {
        const event = fromStored(result) as ReceivedEvent;
        return { ...event, payload: fromStored(event.payload) };
      };
      if (known?.status === 'done') return received(known.result);
      if (known?.status === 'failed') throw toError(known.error);
      if (known === undefined) {
        const timeoutAt = limitMs === undefined ? null : Date.now() + limitMs;
        const { step: now } = await update('waitForEvent', { name: key, type, timeoutAt });
        if (now?.status === 'done') return received(now.result);
      }
      return sleepOn();
    },
    log(message, data) {
      // Lines of replayed code are dropped, because they were logged by an earlier attempt.
      if (unseen > 0) return;
      lines.push(
        callHost('workflow.log', { lease, message: String(message), data: data === undefined ? null : data }).catch(
          () => {},
        ),
      );
    },
    untaken: () => Object.keys(steps).filter((name) => !visited.has(name)),
    over,
    logged: () => Promise.all(lines),
  };
}

function utf8Bytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    // A surrogate is half of a character of four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return bytes;
}

/** The error if the steps of a handler differ from the stored steps. */
export function mismatch(reason: string): Error {
  return namedError(
    'ReplayMismatchError',
    `Workflow replay mismatch: ${reason}. The code between the steps of a handler must be deterministic`,
  );
}
