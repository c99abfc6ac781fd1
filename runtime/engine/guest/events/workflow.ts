// One attempt at a run of a workflow: calls the handler from its beginning, replays the results of completed steps,
// runs the others, and ends when the handler has, or when it only waits for time or an event. Each step is durable on
// the host before the handler continues. A module of lazy.ts.
import type { LazyDeps } from '../lazy.ts';
import type { EventHandler } from '../dispatch.ts';

/** State of a step on the host. */
interface KnownStep {
  readonly kind: StepKind;
  /** `waiting`: asleep, waiting for an event, or for a retry. */
  readonly status: 'done' | 'failed' | 'waiting';
  readonly result?: unknown;
  readonly error?: { readonly name: string; readonly message: string };
  /** Attempts that failed. */
  readonly attempts?: number;
  /** When it continues, ms since 1970; absent if only an event can wake it. */
  readonly wakeAt?: number;
}

type StepKind = 'run' | 'sleep' | 'event';

interface WorkflowEvent {
  readonly workflow: string;
  readonly executionId: string;
  /** Lease of this attempt, sent with its updates. */
  readonly lease: string;
  /** These two are in the body, unless an operator injected the event. */
  readonly input: unknown;
  readonly steps: Readonly<Record<string, KnownStep>>;
}

interface StepOptions {
  readonly retries?: number;
  readonly timeoutMs?: number;
  readonly backoff?: 'constant' | 'linear' | 'exponential' | { readonly type?: string; readonly delayMs?: number };
}

type Handler = (context: object) => unknown;

const RETRIES_DEFAULT = 3;
const TIMEOUT_MS_DEFAULT = 120_000;
const BACKOFF_MS_DEFAULT = 1000;
const BACKOFF_MS_MAX = 300_000;

export default function createWorkflowEvents(deps: LazyDeps): { handle: EventHandler } {
  const { callHost, fromJson, noHandler, setTimeout, clearTimeout, setImmediate, useModule } = deps;
  const { fromStored, toStored } = useModule('stored-values');

  return {
    async handle(worker, env, _context, event, [body]) {
      const { workflow, executionId, lease } = event as WorkflowEvent;
      const { input: given, steps } = (body === undefined ? event : fromJson(body)) as Pick<
        WorkflowEvent,
        'input' | 'steps'
      >;
      const input = fromStored(given);
      const workflows = worker?.['workflows'] as
        | Readonly<
            Record<string, { handler?: Handler; onError?: (error: unknown, context: object) => unknown } | Handler>
          >
        | undefined;
      const found = workflows != null && Object.hasOwn(workflows, workflow) ? workflows[workflow] : undefined;
      const handler = typeof found === 'function' ? found : found?.handler;
      if (typeof handler !== 'function') throw noHandler(`workflows.${workflow}.handler`);

      const visited = new Set<string>();
      const uses = new Map<string, number>();
      let unseen = Object.keys(steps).length;
      let running = 0;
      /** Steps that wait for time or an event beyond this attempt. */
      let asleep = 0;
      let suspend: (result: object) => void;
      const suspended = new Promise<object>((resolve) => (suspend = resolve));
      let abandon: (error: unknown) => void;
      const abandoned = new Promise<never>((_, reject) => (abandon = reject));
      const logged: Promise<unknown>[] = [];

      const update = async (
        name: 'stepDone' | 'stepFailed' | 'sleep' | 'waitForEvent',
        args: Readonly<Record<string, unknown>>,
      ): Promise<{ ended?: string; step?: KnownStep }> => {
        let answer: { ended?: string; step?: KnownStep };
        try {
          answer = ((await callHost(`workflow.${name}`, { lease, ...args })).value ?? {}) as typeof answer;
        } catch (error) {
          if (toFailure(error).code === 'invalid_argument') throw error;
          // Unknown whether the update was stored (the database is unavailable): not the handler's fault. The run
          // continues from its stored state.
          abandon(error);
          return new Promise(() => {});
        }
        // Cancelled or paused: nothing of this attempt counts any more.
        if (answer.ended !== undefined) {
          suspend({ status: 'suspended' });
          await new Promise(() => {});
        }
        return answer;
      };

      /** Never resumes in this attempt. Once nothing else runs, the attempt is over. */
      const sleepOn = (): Promise<never> => {
        asleep++;
        settle();
        return new Promise(() => {});
      };
      // The handler may be about to start other steps: it gets a tick first.
      const settle = (): void => {
        if (asleep > 0 && running === 0)
          setImmediate(() => {
            if (running === 0) suspend({ status: 'suspended' });
          });
      };

      /** The name of a step in the history: a repeated name, as in a loop, gets a number. */
      const take = (name: unknown, kind: StepKind): { name: string; known: KnownStep | undefined } => {
        if (typeof name !== 'string' || name === '') throw new TypeError('A step must have a name');
        const use = (uses.get(name) ?? 0) + 1;
        uses.set(name, use);
        const key = use === 1 ? name : `${name}#${use}`;
        const known = Object.hasOwn(steps, key) ? steps[key] : undefined;
        if (known !== undefined && known.kind !== kind)
          throw mismatch(`step "${key}" was of kind ${known.kind} before and is of kind ${kind} now`);
        if (known !== undefined && !visited.has(key)) unseen--;
        visited.add(key);
        return { name: key, known };
      };

      const mismatch = (reason: string): Error => {
        const error = new Error(
          `Workflow replay mismatch: ${reason}. What a handler does between its steps must be the same in every run`,
        );
        error.name = 'ReplayMismatchError';
        return error;
      };

      /** A retry would return the same. */
      const stepResult = (name: string, result: unknown): unknown => {
        try {
          return toStored(result);
        } catch (error) {
          const failure = new Error(`The result of step "${name}" cannot be stored: ${toFailure(error).message}`);
          throw Object.assign(failure, { name: 'NonRetryableError' });
        }
      };

      const attempt = async (
        name: string,
        fn: () => unknown,
        options: StepOptions,
        attempts: number,
      ): Promise<unknown> => {
        const { timeoutMs = TIMEOUT_MS_DEFAULT, retries = RETRIES_DEFAULT } = options;
        let result: unknown;
        let timer: unknown;
        const startedAt = Date.now();
        running++;
        try {
          const timeout = new Promise<never>((_, reject) => {
            timer = setTimeout(() => {
              const error = new Error(`Step "${name}" did not end within ${timeoutMs} ms`);
              error.name = 'TimeoutError';
              reject(error);
            }, timeoutMs);
          });
          result = await Promise.race([fn(), timeout]);
          clearTimeout(timer as never);
          const stored = stepResult(name, result);
          await update('stepDone', { name, startedAt, result: stored });
          return result;
        } catch (error) {
          clearTimeout(timer as never);
          const failure = toFailure(error);
          const isFinal =
            failure.name === 'NonRetryableError' || failure.code === 'invalid_argument' || attempts >= retries;
          const wakeAt = isFinal ? null : Date.now() + backoffMs(options, attempts);
          await update('stepFailed', {
            startedAt,
            name,
            error: { name: failure.name, message: failure.message },
            attempts: attempts + 1,
            wakeAt,
          });
          if (isFinal) throw error;
        } finally {
          running--;
        }
        return sleepOn();
      };

      const step = {
        async run(given: unknown, second: unknown, third?: unknown): Promise<unknown> {
          const [fn, options] = (typeof second === 'function' ? [second, third] : [third, second]) as [
            () => unknown,
            StepOptions | undefined,
          ];
          if (typeof fn !== 'function') throw new TypeError('step.run takes a name and a function');
          const { name, known } = take(given, 'run');
          if (known?.status === 'done') return fromStored(known.result);
          if (known?.status === 'failed') throw toError(known.error);
          if (known?.wakeAt !== undefined && known.wakeAt > Date.now()) return sleepOn();
          return attempt(name, fn, toOptions(options), known?.attempts ?? 0);
        },
        do(name: unknown, second: unknown, third?: unknown): Promise<unknown> {
          return step.run(name, second, third);
        },
        /** `sleep(ms)`, or `sleep(name, ms | '5 minutes')` as on other platforms. */
        async sleep(first: unknown, second?: unknown): Promise<void> {
          const ms = toMs(second === undefined ? first : second);
          await sleepUntil(second === undefined ? 'sleep' : first, () => Date.now() + ms);
        },
        async sleepUntil(first: unknown, second?: unknown): Promise<void> {
          const time = second === undefined ? first : second;
          const at = time instanceof Date ? time.getTime() : time;
          if (typeof at !== 'number' || !Number.isFinite(at))
            throw new TypeError('sleepUntil takes a Date or milliseconds since 1970');
          await sleepUntil(second === undefined ? 'sleep' : first, () => at);
        },
        async waitForEvent(
          given: unknown,
          options: { type: string; timeoutMs?: number; timeout?: unknown },
        ): Promise<unknown> {
          const { name, known } = take(given, 'event');
          if (known?.status === 'done') return fromStored(known.result);
          if (known?.status === 'failed') throw toError(known.error);
          if (known === undefined) {
            const limitMs = options?.timeoutMs ?? (options?.timeout === undefined ? undefined : toMs(options.timeout));
            const timeoutAt = limitMs === undefined ? null : Date.now() + limitMs;
            running++;
            const { step: now } = await update('waitForEvent', { name, type: options?.type, timeoutAt });
            running--;
            if (now?.status === 'done') return fromStored(now.result);
          }
          return sleepOn();
        },
      };

      const sleepUntil = async (given: unknown, until: () => number): Promise<void> => {
        const { name, known } = take(given, 'sleep');
        if (known?.status === 'done') return;
        if (known === undefined) {
          const wakeAt = Math.round(until());
          running++;
          await update('sleep', { name, wakeAt });
          running--;
          if (wakeAt <= Date.now()) return;
        } else if (known.wakeAt !== undefined && known.wakeAt <= Date.now()) return;
        await sleepOn();
      };

      const context = {
        input,
        payload: input,
        step,
        env,
        executionId,
        /** Replayed code has already logged its lines. */
        log(message: unknown, data?: unknown): void {
          if (unseen > 0) return;
          logged.push(
            callHost('workflow.log', { lease, message: String(message), data: data === undefined ? null : data }).catch(
              () => {},
            ),
          );
        },
      };

      const finished = (async () => {
        try {
          const output = await (handler as Handler).call(found, context);
          if (unseen > 0) {
            const missing = Object.keys(steps).filter((name) => !visited.has(name));
            throw mismatch(`the handler ended without ${missing.map((name) => `"${name}"`).join(', ')}`);
          }
          return { status: 'completed', output: output === undefined ? null : toStored(output) };
        } catch (error) {
          const onError = typeof found === 'object' ? found.onError : undefined;
          if (typeof onError === 'function') await onError.call(found, error, context);
          const { name, message } = toFailure(error);
          return { status: 'failed', error: { name, message } };
        }
      })();
      const result = await Promise.race([finished, suspended, abandoned]);
      await Promise.all(logged);
      return result;
    },
  };
}

function toFailure(error: unknown): { name: string; message: string; code?: unknown } {
  const { name, message, code } = (error ?? {}) as { name?: unknown; message?: unknown; code?: unknown };
  return { name: typeof name === 'string' ? name : 'Error', message: String(message ?? error), code };
}

function toError(failure: { name: string; message: string } | undefined): Error {
  const error = new Error(failure?.message ?? 'The step failed');
  error.name = failure?.name ?? 'Error';
  return error;
}

/** Options of this platform, or of others: `{retries: {limit, delay, backoff}, timeout}`. */
function toOptions(given: unknown): StepOptions {
  const { retries, timeoutMs, timeout, backoff, sensitive } = (given ?? {}) as Record<string, unknown>;
  if (sensitive !== undefined)
    throw new TypeError('A step does not support sensitive here: its result is kept in the history of its run');
  const other =
    typeof retries === 'object' && retries !== null
      ? (retries as { limit?: number; delay?: unknown; backoff?: string })
      : null;
  const limit = other === null ? retries : other.limit;
  const time = timeoutMs ?? (timeout === undefined ? undefined : toMs(timeout));
  const growth =
    other === null
      ? backoff
      : { type: other.backoff, delayMs: other.delay === undefined ? undefined : toMs(other.delay) };
  const type = (typeof growth === 'object' ? (growth as { type?: unknown } | null)?.type : growth) ?? 'exponential';
  if (!['constant', 'linear', 'exponential'].includes(type as string))
    throw new TypeError(`backoff must be constant, linear or exponential, not ${String(type)}`);
  return {
    ...(limit === undefined ? {} : { retries: wholeNumber(limit, 'retries') }),
    ...(time === undefined ? {} : { timeoutMs: wholeNumber(time, 'timeoutMs') }),
    ...(growth === undefined ? {} : { backoff: growth as NonNullable<StepOptions['backoff']> }),
  };
}

function wholeNumber(value: unknown, what: string): number {
  if (typeof value !== 'number' || !(value >= 0)) throw new TypeError(`${what} must be a number of at least 0`);
  return Math.floor(value);
}

/** Delay before the next attempt: exponential by default, from a second to five minutes, with 25% jitter. */
function backoffMs({ backoff }: StepOptions, attempts: number): number {
  const type = (typeof backoff === 'string' ? backoff : backoff?.type) ?? 'exponential';
  const base = (typeof backoff === 'object' ? backoff.delayMs : undefined) ?? BACKOFF_MS_DEFAULT;
  const factor = type === 'constant' ? 1 : type === 'linear' ? attempts + 1 : 2 ** attempts;
  return Math.round(Math.min(base * factor, Math.max(base, BACKOFF_MS_MAX)) * (1 + Math.random() / 4));
}

const units: Readonly<Record<string, number>> = {
  second: 1000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};

/** Milliseconds from a number, or from a text such as `5 minutes`. */
function toMs(value: unknown): number {
  if (typeof value === 'number' && value >= 0) return value;
  const [, count, unit] =
    (typeof value === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*([a-z]+?)s?\s*$/i.exec(value) : null) ?? [];
  const factor = unit === undefined ? undefined : units[unit.toLowerCase()];
  if (factor === undefined)
    throw new TypeError(`A time must be milliseconds or a text such as "5 minutes", not ${String(value)}`);
  return Number(count) * factor;
}
