// A receiver of HTTP on a real socket of this machine, for what the platform sends to others: keeps what came, answers
// what the test says, and can go away and come back on its port.
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';

/** A request that came. */
interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** As it was before it was compressed. */
  readonly body: string;
}

/** A receiver. */
export interface HttpReceiver {
  readonly url: string;
  readonly received: Received[];
  /** Answers what comes; 200 at first. */
  answer: (response: ServerResponse) => void;
  /** Closes its port, with its connections. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
}

export async function openHttpReceiver(): Promise<HttpReceiver> {
  const received: Received[] = [];
  let server: Server;
  let port = 0;
  const listen = async (): Promise<void> => {
    server = createServer((request, response) => {
      void buffer(request).then(
        (bytes) => {
          const isZipped = request.headers['content-encoding'] === 'gzip';
          const body = (isZipped ? gunzipSync(bytes) : bytes).toString('utf8');
          received.push({ method: request.method!, url: request.url!, headers: request.headers, body });
          receiver.answer(response);
        },
        () => {},
      );
    }).listen(port, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  };
  await listen();
  const receiver: HttpReceiver = {
    url: `http://127.0.0.1:${port}`,
    received,
    answer: (response) => response.end(),
    async goAway() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    comeBack: listen,
  };
  return receiver;
}
