// The user that engines have in Redis: it reaches the keys of the cache and nothing else, since engines share memory
// with hostile code and the rest of that server (`CACHE_URL`) is sessions. Made by the supervisor before engines start;
// the counterpart of postgres/engine-role.ts.
import { createHmac } from 'node:crypto';
import { createClient } from 'redis';

const user = 'platform_engine';
const rights = ['~cache:*', '+get', '+set', '+del', '+ping', '+hello', '+auth', '+select'];
const CONNECT_MS = 5000;

/**
 * Lets engines sign in at the cache, and returns their URL. Their password follows from the owner's.
 *
 * @param url `CACHE_URL`.
 * @throws {Error} that says what to do, when the server cannot be reached or the owner may not make users.
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
      'The user of CACHE_URL may not make one for engines (ACL SETUSER). Make one yourself that reaches the keys cache:* only, ' +
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
