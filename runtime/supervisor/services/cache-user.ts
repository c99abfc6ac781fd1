// The engines' user in Redis: it has access only to the keys of the cache, because engines share memory with hostile
// code, and the server (`CACHE_URL`) also stores sessions. Created by the supervisor before engines start; the
// counterpart of postgres/engine-role.ts.
import { createHmac } from 'node:crypto';
import { createClient } from 'redis';

const user = 'platform_engine';
const rights = ['~cache:*', '+get', '+set', '+del', '+ping', '+hello', '+auth', '+select'];
const CONNECT_MS = 5000;

/**
 * Creates the engines' user of the cache, and returns their URL. The password of the user is derived from the owner's.
 *
 * @param url `CACHE_URL`.
 * @throws {Error} with instructions, when the server cannot be reached or the owner may not create users.
 */
export async function openCacheUser(url: string): Promise<string> {
  const parsed = URL.parse(url);
  if (parsed === null || !/^rediss?:$/.test(parsed.protocol))
    throw new Error('CACHE_URL must have the form redis://user:password@host:port');
  const client = createClient({ url, socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false } });
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw new Error(`The cache at ${parsed.host} (CACHE_URL) cannot be reached: ${(error as Error).message}`, {
      cause: error,
    });
  }
  const password = createHmac('sha256', decodeURIComponent(parsed.password) || url)
    .update(user)
    .digest('hex');
  try {
    await client.sendCommand(['ACL', 'SETUSER', user, 'reset', 'on', `>${password}`, ...rights]);
  } catch (error) {
    throw new Error(
      'The user of CACHE_URL is not allowed to create a user for engines (ACL SETUSER). Create that user yourself with access to the keys cache:* only, ' +
        'and set ENGINE_CACHE_URL',
      { cause: error },
    );
  } finally {
    client.destroy();
  }
  parsed.username = user;
  parsed.password = password;
  return parsed.href;
}
