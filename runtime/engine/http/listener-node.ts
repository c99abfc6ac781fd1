// The default listener, on node:http: turns requests into exchanges and refuses malformed ones. Opened by the main
// modules (main.ts, dev/dev.ts) and passed to the handler as `OpenListener`. Independent of routes and isolates; does
// not decode bodies.
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createNetServer, Server as NetServer, type AddressInfo } from 'node:net';
import { closeIdleLate } from '#core/process/late-close.ts';
import { isWebSocketHandshake } from './handshake.ts';
import { DateHeader, HeadCache, hostFrom, isHopByHop, targetParts } from './header-block.ts';
import type { Listener, ListenerOptions } from './listener.ts';
import {
  answerRaw,
  closeAfterAnswers,
  closeIdle,
  closeOldestIdle,
  destroyAll,
  lingerAtEnd,
  refuseConnection,
  type ConnectedSocket,
} from './node-connections.ts';
import { NodeExchange, type NodeListenerState } from './node-exchange.ts';
import { watchHandshake } from './node-handshake.ts';
import { joinConnection, newConnection } from './node-pipeline.ts';

// `node:http` is not imported, because an import reads all exports and so loads Node's HTTP client, which costs every
// process 67 ms of CPU.
const http = process.getBuiltinModule('node:http');

/** Added to the documented idle time, because Node's own timeout fires first. */
const WAIT_MS = 200;
/** The default if the limits do not set this value. */
const PIPELINED_MAX = 256;
const CONNECTIONS_MAX = 20_000;
/** As `OpenListener`, on node:http. */
export async function openNodeListener(options: ListenerOptions): Promise<Listener> {
  const { limits } = options;
  const state: NodeListenerState = {
    options,
    heads: new HeadCache(options.domains),
    date: new DateHeader(),
    stallMs: limits.stallMs ?? 60_000,
    draining: false,
    upgrader: null,
  };
  // Event listeners of connections, not of requests.
  const sockets = new Set<ConnectedSocket>();
  const headersMs = limits.headersMs ?? 10_000;
  const connectionsMax = limits.connectionsMax ?? CONNECTIONS_MAX;

  const server = http.createServer({
    IncomingMessage: LeanIncomingMessage,
    optimizeEmptyRequests: true,
    requireHostHeader: false,
    noDelay: true,
    // Node counts target and headers together and answers 431; the exact limits are checked below.
    maxHeaderSize: limits.headerBytesMax + limits.urlBytesMax * 2,
    keepAliveTimeout: limits.idleMs,
    // Proxies rely on the documented timeout (docs/handler.md), because a request on a closing connection is lost.
    keepAliveTimeoutBuffer: 0,
    headersTimeout: headersMs,
    // Requests have no time limit, because streams may take any time; the socket's timeout ends a body that stalls.
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(1000, headersMs),
    shouldUpgradeCallback: mayUpgrade,
  });
  // Zero removes Node's limit of 2,000 headers, above which it silently drops headers; the size of headers is limited.
  server.maxHeadersCount = 0;

  server.on('connection', (socket: ConnectedSocket) => {
    socket.connection = newConnection(socket);
    if (sockets.size >= connectionsMax && !closeOldestIdle(sockets)) {
      socket.destroy();
      return;
    }
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      const connection = socket.connection!;
      for (let exchange = connection.first; exchange !== null; exchange = connection.first) {
        exchange.abort();
      }
    });
  });
  server.on('request', (request, response) => accept(state, request, response, false));
  server.on('checkContinue', (request, response) => accept(state, request, response, true));
  server.on('upgrade', (request, socket, first) => {
    void openUpgrader(state).then(() => acceptHandshake(state, request, socket as ConnectedSocket, first));
  });
  server.on('connect', (_request, socket) => answerRaw(socket, 'method_not_allowed', { method: 'CONNECT' }));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: ConnectedSocket) =>
    refuseConnection(limits, error, socket),
  );

  closeIdleLate(server);

  await listen(server, options);
  const closed = new Promise<void>((resolve) => void server.once('close', () => resolve()));
  /** Listening sockets of other processes, until the last accepted connection is closed. */
  const adopted = new Set<NetServer>();
  const leave = (other: NetServer): void => void (other.listening && other.close());
  /** Node reports the server as closed before the last sockets do; only then are all exchanges complete. */
  const allClosed = async (): Promise<void> => {
    await closed;
    await Promise.all([...adopted].map((other) => once(other, 'close')));
    while (sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
  };

  return {
    technology: 'node',
    port: (server.address() as AddressInfo).port,
    handOver: () => (server as unknown as { _handle: object | null })._handle,
    adopt(socket) {
      const other = createNetServer(
        { allowHalfOpen: true, noDelay: true },
        (connection) => void server.emit('connection', connection),
      );
      adopted.add(other);
      other.once('close', () => adopted.delete(other));
      other.listen(socket);
      return () => leave(other);
    },
    async drain(deadlineMs, idle = 'close') {
      state.draining = true;
      adopted.forEach(leave);
      if (idle === 'close') server.close();
      else stopAccepting(server);
      state.upgrader?.closeAll(1012, 'Service restart');
      if (idle === 'close') closeIdle(sockets);
      // A response whose headers said keep-alive before the drain began leaves an idle connection behind.
      const from = performance.now() + (idle === 'close' ? 0 : limits.idleMs + WAIT_MS);
      const sweep = setInterval(() => {
        if (performance.now() >= from) closeIdle(sockets);
      }, 50);
      const deadline = setTimeout(destroyAll, deadlineMs, sockets);
      await allClosed();
      clearInterval(sweep);
      clearTimeout(deadline);
      state.upgrader?.stop();
    },
    async close() {
      state.draining = true;
      adopted.forEach(leave);
      server.close();
      destroyAll(sockets);
      await allClosed();
      state.upgrader?.stop();
    },
  };
}

/**
 * Node itself only reads these three headers of a request, to learn whether a body follows, and for `expect`. An object
 * of all headers, which nothing else reads, would cost half a microsecond.
 */
class LeanIncomingMessage extends http.IncomingMessage {
  #lean: Record<string, string> | null = null;

  // @ts-expect-error Node's types declare a property where its code has an accessor.
  override get headers(): Record<string, string> {
    if (this.#lean !== null) return this.#lean;
    let lean = NO_HEADERS;
    const raw = this.rawHeaders;
    for (let i = 0; i < raw.length; i += 2) {
      const length = raw[i]!.length;
      if (length !== 6 && length !== 14 && length !== 17) continue;
      const name = raw[i]!.toLowerCase();
      if (name !== 'expect' && name !== 'content-length' && name !== 'transfer-encoding') continue;
      if (lean === NO_HEADERS) lean = {};
      lean[name] = raw[i + 1]!;
    }
    return (this.#lean = lean);
  }
}
const NO_HEADERS: Record<string, string> = {};

/** Whether Node may detach the connection, as for a handshake that is not pipelined behind other requests. */
function mayUpgrade(request: IncomingMessage): boolean {
  const { first, closing } = (request.socket as ConnectedSocket).connection!;
  const raw = request.rawHeaders;
  const header = (name: string): string | null => {
    let value: string | null = null;
    for (let i = 0; i < raw.length; i += 2) {
      if (raw[i]!.length === name.length && raw[i]!.toLowerCase() === name)
        value = value === null ? raw[i + 1]! : `${value}, ${raw[i + 1]!}`;
    }
    return value;
  };
  return first === null && !closing && isWebSocketHandshake(request.method!, header);
}

async function openUpgrader(state: NodeListenerState): Promise<void> {
  const { createUpgrader } = await import('./websocket.ts');
  state.upgrader ??= createUpgrader(state.options.limits);
}

/** Accepts a handshake as a normal exchange, on a connection that serves no further request. */
function acceptHandshake(
  state: NodeListenerState,
  request: IncomingMessage,
  socket: ConnectedSocket,
  first: Buffer,
): void {
  if (socket.destroyed) return;
  const response = new http.ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  watchHandshake(socket, response);
  accept(state, request, response, false, first);
}

/** Checks the request line and headers of a request, and passes it on as an exchange. */
function accept(
  state: NodeListenerState,
  request: IncomingMessage,
  response: ServerResponse,
  awaitsContinue: boolean,
  upgradeHead: Buffer | null = null,
): void {
  const connection = (request.socket as ConnectedSocket).connection!;
  // After a refused request, later requests on the connection are not served.
  if (connection.closing) return;
  const { limits } = state.options;
  // Accepted requests are answered, then the connection ends. Later requests were not served, so clients may send them
  // again.
  if (connection.pending >= (limits.pipelinedMax ?? PIPELINED_MAX)) {
    closeAfterAnswers(connection);
    const { socket } = connection;
    socket.pause();
    lingerAtEnd(socket);
    return;
  }
  const raw = request.rawHeaders;
  let headerBlock = '';
  let hostHeader: string | null = null;
  let hosts = 0;
  let bodyBytes = 0;
  let chunked = false;
  let problem = '';
  let headerBytes = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i]!.toLowerCase();
    const value = raw[i + 1]!;
    headerBytes += name.length + value.length + 4;
    switch (name.length) {
      case 4:
        if (name === 'host') {
          hosts++;
          hostHeader = value;
        }
        break;
      case 14:
        if (name === 'content-length') bodyBytes = Number(value);
        break;
      case 17:
        if (name === 'transfer-encoding') {
          if (chunked || value.toLowerCase() !== 'chunked')
            problem = 'The only supported transfer coding is chunked, once';
          chunked = true;
        }
        break;
    }
    if (isHopByHop(name) && (upgradeHead === null || name !== 'upgrade')) continue;
    headerBlock += `${name}\0${value}\0`;
  }
  if (chunked) bodyBytes = -1;

  const url = request.url!;
  let target = url;
  if (url.charCodeAt(0) !== 0x2f) {
    const parts = targetParts(url);
    if (parts === null) problem = 'The request target must be a path or an absolute URL';
    else {
      target = parts.target;
      hostHeader = parts.host;
    }
  }
  if (request.httpVersionMajor !== 1) problem = 'The HTTP version must be 1.1 or 1.0';
  if (hosts !== 1) problem = hosts === 0 ? 'The Host header is missing' : 'The request has several Host headers';
  const host = hostHeader === null ? null : hostFrom(hostHeader);
  if (host === null && problem === '') problem = 'The Host header must be a host name';

  const exchange = new NodeExchange(
    state,
    connection,
    request,
    response,
    target,
    host ?? '',
    headerBlock,
    bodyBytes,
    awaitsContinue,
  );
  exchange.upgradeHead = upgradeHead;
  joinConnection(connection, exchange);
  if (url.length > limits.urlBytesMax) exchange.refuse('url_too_long', { limit: limits.urlBytesMax });
  else if (headerBytes > limits.headerBytesMax) exchange.refuse('headers_too_large', { limit: limits.headerBytesMax });
  else if (problem !== '') exchange.refuse('bad_request', { reason: problem });
  else if (bodyBytes > limits.bodyBytesMax) exchange.refuse('body_too_large', { limit: limits.bodyBytesMax });
  else state.options.onExchange(exchange);
}

function listen(server: Server, options: ListenerOptions): Promise<void> {
  const { port, host, reusePort = false, inherited = null } = options;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(inherited ?? { port, host, reusePort, backlog: 4096 }, () => {
      server.removeListener('error', reject);
      resolve();
    });
  });
}

/** `close` of an HTTP server also ends idle connections; `close` of its base class does not. */
function stopAccepting(server: Server): void {
  NetServer.prototype.close.call(server);
}
