// The guest half of the cache binding: texts by key, with expiry. lazy.ts loads this module when it is first used.
import type { LazyDeps } from '../lazy.ts';

export default function createCache({ callHost, toOptions }: LazyDeps): { create(name: string): object } {
  class CacheValues {
    readonly #binding: string;

    constructor(binding: string) {
      this.#binding = binding;
    }

    async get(key: unknown): Promise<string | null> {
      const { parts } = await callHost('cache.get', { binding: this.#binding, key });
      return (parts[0] as string | undefined) ?? null;
    }

    async set(key: unknown, value: unknown, options?: { ttl?: number } | null): Promise<void> {
      if (typeof value !== 'string') throw new TypeError('The value must be a string');
      await callHost('cache.set', { binding: this.#binding, key, ttl: toOptions('The options of set', options).ttl }, [
        value,
      ]);
    }

    async delete(key: unknown): Promise<void> {
      await callHost('cache.remove', { binding: this.#binding, key });
    }
  }

  return { create: (name) => new CacheValues(name) };
}
