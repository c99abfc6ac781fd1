// Storage of request counts: the isolate's memory, or a state binding that all isolates share.

/** Counts of a key. */
export interface Counts {
  /** Count in the current window, including this request. */
  readonly current: number;
  /** Count in the previous window. */
  readonly previous: number;
}

/** Counts requests. */
export interface RateLimitStore {
  /** Counts one request. @param window number of the window since 1970. */
  count(key: string, window: number, windowMs: number, withPrevious: boolean): Promise<Counts> | Counts;
}

/** The used part of a state binding. */
export interface CountingBinding {
  update(key: string, change: { $inc: Record<string, number> }): Promise<unknown>;
  get(key: string, type: 'json'): Promise<unknown>;
  getWithMetadata?(key: string, type: 'json'): Promise<{ readonly value: unknown; readonly version?: string | null }>;
  compareAndSet?(
    key: string,
    version: string | null,
    value: string,
    options: { expirationTtl: number },
  ): Promise<boolean>;
}

const KEYS_MAX = 10_000;

/** Counts in memory, for one isolate and at most 10,000 keys; the oldest are dropped. */
export function memoryStore(): RateLimitStore {
  const entries = new Map<string, { window: number; current: number; previous: number }>();
  return {
    count(key, window) {
      let entry = entries.get(key);
      if (entry === undefined) {
        if (entries.size >= KEYS_MAX)
          for (const oldest of entries.keys()) if (entries.size < KEYS_MAX || !entries.delete(oldest)) break;
        entries.set(key, (entry = { window, current: 0, previous: 0 }));
      } else if (entry.window !== window) {
        entry.previous = entry.window === window - 1 ? entry.current : 0;
        entry.current = 0;
        entry.window = window;
        // Moves the entry to the end.
        entries.delete(key);
        entries.set(key, entry);
      }
      entry.current++;
      return entry;
    },
  };
}

/** Counts in a state binding, by its atomic `$inc`; entries expire after two windows. */
export function bindingStore(binding: CountingBinding): RateLimitStore {
  return {
    async count(key, window, windowMs, withPrevious) {
      const name = (which: number): string => `ratelimit:${key}:${which}`;
      const [current, previous] = await Promise.all([
        binding.update(name(window), { $inc: { n: 1 } }),
        withPrevious ? binding.get(name(window - 1), 'json') : null,
      ]);
      if (countOf(current) === 1) await expire(binding, name(window), Math.max(60, Math.ceil((2 * windowMs) / 1000)));
      return { current: countOf(current), previous: countOf(previous) };
    },
  };
}

const ATTEMPTS_MAX = 5;

/** Sets the expiry of a new count without losing concurrent increments. `$inc` keeps it afterwards. */
async function expire(binding: CountingBinding, key: string, expirationTtl: number): Promise<void> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const found = await binding.getWithMetadata?.(key, 'json');
    if (found?.version == null || found.value === null) return;
    const isSet = await binding.compareAndSet?.(key, found.version, JSON.stringify(found.value), { expirationTtl });
    if (isSet !== false) return;
  }
}

function countOf(document: unknown): number {
  const { n } = (document ?? {}) as { n?: unknown };
  return typeof n === 'number' ? n : 0;
}
