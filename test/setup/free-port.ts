// A port for programs that must be told one and cannot choose their own.
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

// Below those that the system gives to connections and to who listens on port 0: there another process could take it
// before the program does, which starts its database first.
const FIRST = 12_000;
const LAST = 31_000;

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, LAST);
    const server = createServer().listen(port);
    const free = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!free) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}
