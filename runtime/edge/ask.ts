// Before each new certificate, Caddy asks this server whether the name may have one. Listens on a loopback port, under
// a path that only Caddy knows. Unknown names are refused, and all names while route records cannot be read.
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';

/** Decides about names. */
interface AskDeps {
  /** Returns null if the host may have a certificate; otherwise, why it may not. The name is a lower-case DNS name. */
  readonly refusal: (host: string) => Promise<string | null>;
  readonly onRefused: (host: string, reason: string) => void;
  /** Maximum number of questions per second; further questions are refused. */
  readonly perSecond: number;
}

/** A listener. */
interface Ask {
  readonly url: string;
  close(): void;
}

const NAME = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

export async function openAsk({ refusal, onRefused, perSecond }: AskDeps): Promise<Ask> {
  const path = `/${randomBytes(24).toString('hex')}`;
  let second = 0;
  let asked = 0;
  const server: Server = createServer({ requestTimeout: 5000, maxHeaderSize: 4096 }, (request, response) => {
    const url = URL.parse(request.url ?? '', 'http://edge');
    const answer = (status: number): void => void response.writeHead(status, { connection: 'close' }).end();
    if (request.method !== 'GET' || url?.pathname !== path) return answer(404);
    const now = Math.floor(performance.now() / 1000);
    if (now !== second) [second, asked] = [now, 0];
    if (++asked > perSecond) return answer(429);
    const names = url.searchParams.getAll('domain');
    const host = names.length === 1 ? names[0]!.toLowerCase().replace(/\.$/, '') : '';
    if (host.length > 253 || !NAME.test(host)) return answer(400);
    void refusal(host).then((reason) => {
      if (reason !== null) onRefused(host, reason);
      answer(reason === null ? 200 : 403);
    });
  });
  server.maxConnections = 256;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
