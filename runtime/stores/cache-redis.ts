// Cached responses and values in Redis (`CACHE_URL`), shared by all engines; Redis itself limits the size
// (`maxmemory`).
import { createHash } from 'node:crypto';
import { createClient, RESP_TYPES } from 'redis';
import { PlatformError } from '#core/errors.ts';
import type { CacheStore } from '../engine/bindings/cache.ts';

const CONNECT_MS = 5000;

/** Connects, and reconnects automatically when the server is unavailable. Calls fail immediately in the meantime. */
export async function openCacheRedis(
  url: string,
  onTrouble: (error: Error) => void,
): Promise<CacheStore & { close(): Promise<void> }> {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    // The engines' user is not allowed to send information about the client.
    disableClientInfo: true,
    socket: {
      connectTimeout: CONNECT_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 7), 2000),
    },
  });
  client.on('error', onTrouble);
  await client.connect();
  const bytes = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
  const keyOf = (project: string, key: string): string =>
    `cache:${project}:${createHash('sha256').update(key).digest('base64url')}`;

  async function guarded<Result>(run: () => Promise<Result>): Promise<Result> {
    try {
      return await run();
    } catch (error) {
      throw new PlatformError('store_unavailable', {}, { cause: error });
    }
  }

  return {
    async get(project, key) {
      const value = (await guarded(() => bytes.get(keyOf(project, key)))) as Buffer | null;
      if (value === null) return null;
      const headBytes = value.readUInt32LE(1);
      const head = value.toString('utf8', 5, 5 + headBytes);
      return { head, body: value[0] === 0 ? null : new Uint8Array(value.subarray(5 + headBytes)) };
    },
    // A record is stored as one value: whether there is a body, the length of the headers, the headers, the body.
    async set(project, key, { head, body }, lifeMs) {
      const start = Buffer.alloc(5);
      start[0] = body === null ? 0 : 1;
      const text = Buffer.from(head);
      start.writeUInt32LE(text.byteLength, 1);
      const value = Buffer.concat([start, text, body ?? Buffer.alloc(0)]);
      await guarded(() =>
        client.set(keyOf(project, key), value, { expiration: { type: 'PX', value: Math.max(1, Math.ceil(lifeMs)) } }),
      );
    },
    async delete(project, key) {
      return (await guarded(() => client.del(keyOf(project, key)))) > 0;
    },
    async close() {
      client.destroy();
    },
  };
}
