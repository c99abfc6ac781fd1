// The host half of the cache binding (`cache` in platform.yaml): values that may be evicted at any time. Values are in
// the same store as the responses of the Cache API (cache.ts), under keys that no URL has.
import type { HostCall, HostFunction } from '../bridge/host-calls.ts';
import { invalid, toName, toRecord } from './arguments.ts';
import type { CacheStore } from './cache.ts';
import type { BindingScope } from './scope.ts';

/** Entries without a `ttl` are kept while there is room, at most this long. */
const LIFE_MS_MAX = 30 * 24 * 60 * 60 * 1000;
const KEY_BYTES_MAX = 512;

/** The calls of a deployment's cache bindings. Arguments: `{binding, key, ...}`. */
export function createCacheValueCalls(
  scope: BindingScope,
  store: CacheStore,
  limits: { readonly entryBytesMax: number },
): Readonly<Record<string, HostFunction>> {
  const keyOf = (call: HostCall): string => {
    const { binding, key } = toRecord(call.args);
    call.owner.countSubrequest();
    return `value ${JSON.stringify([scope.resource(binding), toName(key, 'The key', KEY_BYTES_MAX)])}`;
  };
  return {
    /** Returns the value as a part, or no part if it does not exist. */
    async 'cache.get'(call) {
      const found = await store.get(scope.namespace, keyOf(call));
      return { parts: found?.body == null ? [] : [Buffer.from(found.body).toString()] };
    },
    /** Takes `{ttl}` in seconds, with the value as a part. */
    async 'cache.set'(call) {
      const key = keyOf(call);
      const { ttl } = toRecord(call.args);
      const [value] = call.parts;
      if (typeof value !== 'string') throw invalid('The value must be a string');
      if (ttl !== undefined && (typeof ttl !== 'number' || !(ttl > 0)))
        throw invalid('ttl must be a number of seconds above 0');
      const body = new Uint8Array(Buffer.from(value));
      if (body.byteLength > limits.entryBytesMax)
        throw invalid(`The value has ${body.byteLength} bytes, and may have ${limits.entryBytesMax}`);
      await store.set(
        scope.namespace,
        key,
        { head: '', body },
        Math.min(ttl === undefined ? LIFE_MS_MAX : ttl * 1000, LIFE_MS_MAX),
      );
      return {};
    },
    async 'cache.remove'(call) {
      await store.delete(scope.namespace, keyOf(call));
      return {};
    },
  };
}
