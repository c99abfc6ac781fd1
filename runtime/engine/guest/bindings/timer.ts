// The guest half of the timer binding: sets, reads and deletes timers. events/timer.ts receives timers that are due.
// lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';

interface Options {
  readonly payload?: unknown;
  readonly intervalMs?: number;
  readonly cron?: string;
  readonly timezone?: string;
}

const OPTIONS = ['payload', 'intervalMs', 'cron', 'timezone'];

export default function createTimer({ callHost, invalidArgument, toOptions: optionsOf }: LazyDeps): {
  create(name: string): object;
} {
  /** Names of options. The platform defines them, so an unknown option is a mistake. */
  function refuseOthers(call: string, given: object, known: readonly string[]): void {
    const unknown = Object.keys(given).find((name) => !known.includes(name));
    if (unknown !== undefined)
      throw invalidArgument(`${call} does not take "${unknown}": it takes ${known.join(', ')}`);
  }

  /** If the third argument has none of these fields, it is the payload itself. */
  function toOptions(given: unknown): Options {
    const isOptions =
      given === undefined ||
      (typeof given === 'object' &&
        given !== null &&
        ['payload', 'intervalMs', 'cron'].some((name) => Object.hasOwn(given, name)));
    const options = isOptions ? ((given ?? {}) as Options) : { payload: given };
    refuseOthers('set', options, OPTIONS);
    if (typeof options.payload === 'function' || typeof options.payload === 'symbol')
      throw invalidArgument('The payload must be JSON');
    return options;
  }

  /** Converts a time to milliseconds since 1970; the host computes relative times, because its clock is used. */
  function toTime(at: unknown): { at: number } | { afterMs: number } {
    if (at instanceof Date) return { at: at.getTime() };
    if (typeof at === 'number') return { at };
    const afterMs = (at as { afterMs?: unknown } | null | undefined)?.afterMs;
    if (typeof afterMs === 'number') {
      refuseOthers('The time', at as object, ['afterMs']);
      return { afterMs };
    }
    throw new TypeError('The time must be a Date, milliseconds since 1970, or { afterMs }');
  }

  class Timer {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    async set(id: unknown, at: unknown, options?: unknown): Promise<void> {
      const { payload, intervalMs, cron, timezone } = toOptions(options);
      await callHost('timer.set', { binding: this.#binding, id, ...toTime(at), payload, intervalMs, cron, timezone });
    }

    async get(id: unknown): Promise<unknown> {
      return (await callHost('timer.get', { binding: this.#binding, id })).value;
    }

    async delete(id: unknown): Promise<void> {
      await callHost('timer.delete', { binding: this.#binding, id });
    }

    async list(options?: { prefix?: string; limit?: number; cursor?: string } | null): Promise<unknown> {
      const { prefix, limit, cursor } = optionsOf('The options of list', options);
      return (await callHost('timer.list', { binding: this.#binding, prefix, limit, cursor })).value;
    }
  }

  return { create: (name) => new Timer(name) };
}
