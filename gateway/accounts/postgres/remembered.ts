// A cache of lookups: LRU with a maximum size and a time to live. Concurrent callers share one lookup.

interface Remembered<Value> {
  get(key: string, look: () => Promise<Value>): Promise<Value>;
  forget(key: string): void;
  forgetAll(): void;
}

interface Kept<Value> {
  readonly until: number;
  readonly value: Promise<Value>;
}

export function createRemembered<Value>(options: {
  readonly most: number;
  readonly ms: number;
  readonly now: () => number;
  /** Whether to return a stale entry if a lookup fails. */
  readonly keepsOld?: boolean;
}): Remembered<Value> {
  /** Ordered by last use. */
  const kept = new Map<string, Kept<Value>>();
  return {
    get(key, look) {
      const found = kept.get(key);
      kept.delete(key);
      if (found !== undefined && found.until > options.now()) {
        kept.set(key, found);
        return found.value;
      }
      const old = options.keepsOld === true ? found : undefined;
      const value = old === undefined ? look() : look().catch(() => old.value);
      const one: Kept<Value> = { until: options.now() + options.ms, value };
      kept.set(key, one);
      // Failed lookups are not cached.
      one.value.catch(() => {
        if (kept.get(key) === one) kept.delete(key);
      });
      if (kept.size > options.most) kept.delete(kept.keys().next().value!);
      return one.value;
    },
    forget: (key) => void kept.delete(key),
    forgetAll: () => kept.clear(),
  };
}
