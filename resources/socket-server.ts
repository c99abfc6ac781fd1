// Adds WebSockets to a web function (`Request` to `Response`). The function handles a WebSocket request like any other,
// with the same access checks; it becomes a socket if a route takes it (offered-socket.ts). Used by the API process.
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer, type WebSocket } from 'ws';
import { offerSocket } from './offered-socket.ts';

/** Maximum size of a message. */
const MESSAGE_BYTES_MAX = 1024 * 1024;
/** A client that has not answered a ping by the next one is disconnected. */
const PING_MS = 30_000;
const SOCKETS_MAX = 1000;

/** Dependencies of {@link serveSockets}. */
interface SocketServerDeps {
  readonly server: Server;
  readonly fetch: (request: Request, incoming: IncomingMessage) => Response | Promise<Response>;
}

/** @returns a function that closes all sockets. */
export function serveSockets({ server, fetch }: SocketServerDeps): () => void {
  const sockets = new WebSocketServer({ noServer: true, maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
  // Upgrade requests for other protocols are handled as ordinary requests.
  Object.assign(server, {
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === 'websocket',
  });

  async function open(incoming: IncomingMessage, connection: Duplex, head: Buffer): Promise<void> {
    const gone = new AbortController();
    connection.once('close', () => gone.abort());
    const request = requestOf(incoming, gone.signal);
    const taken = offerSocket(request);
    const response =
      sockets.clients.size < SOCKETS_MAX
        ? await fetch(request, incoming)
        : Response.json({ message: 'Too many WebSockets at a time: try again', code: 'unavailable' }, { status: 503 });
    const talk = taken();
    if (connection.destroyed) return;
    if (!response.ok || talk === null) {
      connection.end(await written(response));
      return;
    }
    await response.body?.cancel();
    const socket = await new Promise<WebSocket>((resolve) =>
      sockets.handleUpgrade(incoming, connection, head, resolve),
    );
    socket.on('error', () => {});
    const forget = watch(socket);
    try {
      await talk(socket);
    } finally {
      forget();
      socket.close();
    }
  }

  server.on('upgrade', (incoming: IncomingMessage, connection: Duplex, head: Buffer) => {
    connection.on('error', () => {});
    open(incoming, connection, head).catch(() => connection.destroy());
  });
  return () => {
    for (const socket of sockets.clients) socket.terminate();
  };
}

/** Terminates the socket when the client stops responding. */
function watch(socket: WebSocket): () => void {
  let isThere = true;
  socket.on('pong', () => {
    isThere = true;
  });
  const timer = setInterval(() => {
    if (!isThere) return socket.terminate();
    isThere = false;
    socket.ping();
  }, PING_MS);
  return () => clearInterval(timer);
}

function requestOf({ url, headers, socket }: IncomingMessage, signal: AbortSignal): Request {
  const plain = Object.entries(headers).filter((header): header is [string, string] => typeof header[1] === 'string');
  const path = url?.startsWith('/') === true ? url : '/';
  const request = new Request(`http://${hostOf(headers.host)}${path}`, { headers: new Headers(plain), signal });
  // The property by which srvx exposes the client's address.
  return Object.defineProperty(request, 'ip', { value: socket.remoteAddress });
}

const hostOf = (host: string | undefined): string =>
  host !== undefined && URL.canParse(`http://${host}`) ? host : 'api';

/** Serializes a response as HTTP/1.1; the connection is closed after it. */
async function written(response: Response): Promise<Buffer> {
  const body = Buffer.from(await response.arrayBuffer());
  // A WebSocket request that no route took must not return success.
  const status = response.ok ? 400 : response.status;
  const lines = [`HTTP/1.1 ${status} Refused`, 'connection: close', `content-length: ${body.byteLength}`];
  for (const [name, value] of response.headers)
    if (!/^(?:connection|content-length|transfer-encoding)$/.test(name)) lines.push(`${name}: ${value}`);
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
