// Caches: `cache` in platform.yaml.

/** A cache (`cache` in platform.yaml): values may be evicted at any time. */
export interface CacheBinding {
  /** The value of a key; null if it is not cached. */
  get(key: string): Promise<string | null>;
  /** Stores a value for `ttl` seconds; without it, as long as there is room. */
  set(key: string, value: string, options?: { ttl?: number }): Promise<void>;
  /** Removes a key. */
  delete(key: string): Promise<void>;
}
