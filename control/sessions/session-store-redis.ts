// Sessions in Redis (CACHE_URL): one key per session, which Redis expires, and one set of hashes per account.
import { createClient } from 'redis';
import type { SessionStore, StoredSession } from './session-store.ts';

const PREFIX = 'platform:control:';

/** KEYS: old, new. ARGV: expected expiry, old session with new expiry, its TTL in ms, new session, its TTL in ms. */
const REPLACE = `
local old = redis.call('GET', KEYS[1])
if not old or cjson.decode(old).expiresAt ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PXAT', ARGV[3])
redis.call('SET', KEYS[2], ARGV[4], 'PXAT', ARGV[5])
return 1`;

interface Kept {
  readonly accountId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly userAgent: string | null;
  readonly address: string | null;
  /** Absent in sessions of earlier versions. */
  readonly tokenId?: string | null;
}

/** Time for a Redis server that is still starting. */
const WAIT_MS = 10_000;

/**
 * Connects, and reconnects when the connection is lost.
 *
 * @param onError called when the connection is lost.
 * @param waitMs timeout of the first connection.
 * @throws {Error} the last error, on a timeout.
 */
export async function openRedisSessions(
  url: string,
  onError: (error: Error) => void,
  waitMs: number = WAIT_MS,
): Promise<SessionStore> {
  const client = createClient({ url, socket: { connectTimeout: 5000 }, disableOfflineQueue: true });
  let reason = new Error('no answer');
  client.on('error', (error: Error) => {
    reason = error;
    onError(error);
  });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => (timer = setTimeout(() => reject(reason), waitMs)));
  try {
    await Promise.race([client.connect(), late]);
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  const keyOf = (hash: Buffer): string => `${PREFIX}session:${hash.toString('hex')}`;
  const setOf = (accountId: string): string => `${PREFIX}sessions:${accountId}`;
  const read = async (key: string): Promise<Kept | null> => {
    const text = await client.get(key);
    return text === null ? null : (JSON.parse(text) as Kept);
  };
  const remember = async (accountId: string, hash: Buffer): Promise<void> => {
    await client.sAdd(setOf(accountId), hash.toString('hex'));
  };
  return {
    async put(hash, session) {
      await remember(session.accountId, hash);
      await client.set(keyOf(hash), toText(session), {
        expiration: { type: 'PXAT', value: session.expiresAt.getTime() },
      });
    },
    async get(hash, now) {
      const kept = await read(keyOf(hash));
      return kept === null || kept.expiresAt <= now.getTime() ? null : toSession(kept);
    },
    async replace(hash, seenExpiresAt, graceUntil, next) {
      const kept = await read(keyOf(hash));
      if (kept === null) return false;
      await remember(next.session.accountId, next.hash);
      const done = await client.eval(REPLACE, {
        keys: [keyOf(hash), keyOf(next.hash)],
        arguments: [
          String(seenExpiresAt.getTime()),
          toText({ ...toSession(kept), expiresAt: graceUntil }),
          String(graceUntil.getTime()),
          toText(next.session),
          String(next.session.expiresAt.getTime()),
        ],
      });
      return done === 1;
    },
    async list(accountId, now) {
      const hashes = await client.sMembers(setOf(accountId));
      const found = await Promise.all(
        hashes.map(async (hex) => {
          const hash = Buffer.from(hex, 'hex');
          const kept = await read(keyOf(hash));
          if (kept === null) await client.sRem(setOf(accountId), hex);
          return kept === null || kept.expiresAt <= now.getTime() ? [] : [{ hash, ...toSession(kept) }];
        }),
      );
      return found.flat().sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || a.hash.compare(b.hash));
    },
    async remove(hash) {
      const kept = await read(keyOf(hash));
      await client.del(keyOf(hash));
      if (kept !== null) await client.sRem(setOf(kept.accountId), hash.toString('hex'));
    },
    async removeAll(accountId) {
      const hashes = await client.sMembers(setOf(accountId));
      await client.del([setOf(accountId), ...hashes.map((hex) => keyOf(Buffer.from(hex, 'hex')))]);
    },
    async sweep() {},
    async close() {
      client.destroy();
    },
  };
}

function toText({ createdAt, expiresAt, ...session }: StoredSession): string {
  const kept: Kept = { ...session, createdAt: createdAt.getTime(), expiresAt: expiresAt.getTime() };
  return JSON.stringify(kept);
}

function toSession({ createdAt, expiresAt, tokenId = null, ...kept }: Kept): StoredSession {
  return { ...kept, tokenId, createdAt: new Date(createdAt), expiresAt: new Date(expiresAt) };
}
