// Options of a step of a workflow: retries, delays and the time limit of an attempt.
import { toMs } from './durations.ts';

/** The options of a step with defaults. */
export interface StepOptions {
  /** Retries after the first attempt. */
  readonly retries: number;
  readonly timeoutMs: number;
  /**
   * The delay before the next attempt, in milliseconds. @param failed number of attempts that failed before this one
   */
  delayOf(failed: number, error: unknown): number | Promise<number>;
}

type Backoff = 'constant' | 'linear' | 'exponential';

const RETRIES_DEFAULT = 3;
const TIMEOUT_MS_DEFAULT = 120_000;
const BACKOFF_MS_DEFAULT = 1000;
const BACKOFF_MS_MAX = 300_000;

/** Options of this platform, or of others: `{retries: {limit, delay, backoff}, timeout}`. */
export function toOptions(given: unknown): StepOptions {
  const { retries, timeoutMs, timeout, backoff } = checked(given);
  const other = isObject(retries) ? (retries as { limit?: unknown; delay?: unknown; backoff?: unknown }) : null;
  const limit = other === null ? retries : other.limit;
  const time = timeoutMs ?? (timeout === undefined ? undefined : toMs(timeout));
  const growth =
    other === null
      ? backoff
      : { type: other.backoff, delayMs: other.delay === undefined ? undefined : toMs(other.delay) };
  const { type, delayMs } = (isObject(growth) ? growth : { type: growth }) as { type?: unknown; delayMs?: number };
  const kind = toBackoff(type, 'exponential');
  const base = delayMs ?? BACKOFF_MS_DEFAULT;
  return {
    retries: limit === undefined ? RETRIES_DEFAULT : wholeNumber(limit, 'retries'),
    timeoutMs: time === undefined ? TIMEOUT_MS_DEFAULT : wholeNumber(time, 'timeoutMs'),
    // The delay is at most five minutes, unless the first delay is longer, with 25% jitter.
    delayOf: (failed) =>
      Math.round(Math.min(base * factorOf(kind, failed), Math.max(base, BACKOFF_MS_MAX)) * (1 + Math.random() / 4)),
  };
}

/** Defaults of a step of a class. */
const classDefaults = { retries: { limit: 5, delay: 10_000, backoff: 'exponential' }, timeout: '10 minutes' } as const;

/** The configuration of a step of a class with its defaults, as in the step's context. */
export interface ClassStepConfig {
  readonly retries: { readonly limit: number; readonly delay?: unknown; readonly backoff: Backoff };
  readonly timeout: unknown;
}

/**
 * The configuration and options of a step of a class, whose delays have no jitter and no maximum.
 *
 * @param delayOf calls the delay function of the configuration, if it has one
 */
export function toClassOptions(
  given: unknown,
  delayOf: (delay: (input: object) => unknown, failed: number, error: unknown) => unknown,
): { readonly config: ClassStepConfig; readonly options: StepOptions } {
  const { retries, timeout = classDefaults.timeout } = checked(given);
  if (retries !== undefined && !isObject(retries))
    throw new TypeError('retries of a step must be an object: { limit, delay, backoff }');
  const { limit, delay, backoff } = { ...classDefaults.retries, ...withoutUndefined(retries ?? {}) } as Record<
    string,
    unknown
  >;
  const kind = toBackoff(backoff, 'exponential');
  const config = {
    retries: {
      limit: limit === Infinity ? Infinity : wholeNumber(limit, 'retries.limit'),
      ...(typeof delay === 'function' ? {} : { delay }),
      backoff: kind,
    },
    timeout,
  };
  const base = typeof delay === 'function' ? null : toMs(delay);
  const timeoutMs = toMs(timeout);
  if (timeoutMs === 0) throw new TypeError('timeout of a step must be longer than 0');
  return {
    config,
    options: {
      retries: config.retries.limit,
      timeoutMs,
      async delayOf(failed, error) {
        const first = base ?? toMs(await delayOf(delay as (input: object) => unknown, failed, error));
        return Math.round(first * factorOf(kind, failed));
      },
    },
  };
}

function checked(given: unknown): Record<string, unknown> {
  const options = (given ?? {}) as Record<string, unknown>;
  if (options['sensitive'] !== undefined)
    throw new TypeError('A step does not support sensitive here: its result is stored in the history of its run');
  return options;
}

function withoutUndefined(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function toBackoff(given: unknown, otherwise: Backoff): Backoff {
  const type = given ?? otherwise;
  if (type !== 'constant' && type !== 'linear' && type !== 'exponential')
    throw new TypeError(`backoff must be constant, linear or exponential, not ${String(type)}`);
  return type;
}

/** @param failed number of attempts that failed before this one */
function factorOf(kind: Backoff, failed: number): number {
  if (kind === 'constant') return 1;
  return kind === 'linear' ? failed + 1 : 2 ** failed;
}

function wholeNumber(value: unknown, what: string): number {
  if (typeof value !== 'number' || !(value >= 0)) throw new TypeError(`${what} must be a number of at least 0`);
  return Math.floor(value);
}
