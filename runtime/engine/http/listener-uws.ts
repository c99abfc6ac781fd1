// The listener on uWebSockets.js, for machines where it loads (glibc >= 2.38, `HANDLER_LISTENER`). The root modules
// open this listener as `OpenListener`. test/contract/listener-uws.test.ts lists the differences from node:http.
import { createRequire } from 'node:module';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { defaultLimits } from '#core/limits.ts';
import { installedUws } from '#core/process/uws.ts';
import { isWebSocketHandshake } from './handshake.ts';
import { HeadCache, hostFrom, isHopByHop } from './header-block.ts';
import type { Listener, ListenerOptions, OpenListener } from './listener.ts';
import { ClientAddresses } from './uws-address.ts';
import { openCorkHolder } from './uws-cork.ts';
import { UwsExchange, type UwsListenerState } from './uws-exchange.ts';
import type { UwsModule, UwsRequest, UwsResponse, UwsUpgrade } from './uws-module.ts';
import { uwsBehavior } from './uws-socket.ts';

const MISSING = 'uWebSockets.js is not installed';

/**
 * Loads uWebSockets.js: the package in the container images, or the binary in the data folder, or the package in
 * bench/, which is not in the root because it has 257 MB.
 *
 * @param dataFolder the data folder; null means that it is not searched. @returns the module, or the reason why it did
 * not load, in one line.
 */
export function loadUws(
  where: 'installed' | 'anywhere' = 'anywhere',
  dataFolder: string | null = null,
): { uws: UwsModule } | { uws: null; reason: string } {
  // The library reads this variable once, when it is loaded. Without it, the headers of a request are limited to 4 KB.
  // The exact limits are checked below.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(defaultLimits.headerBytesMax + 2 * defaultLimits.urlBytesMax);
  const kept = dataFolder === null ? { reason: MISSING } : installedUws(dataFolder);
  let reason = 'reason' in kept ? kept.reason : '';
  const packaged = (base: string) => () => createRequire(new URL(base, import.meta.url))('uWebSockets.js') as UwsModule;
  for (const load of [
    packaged('../../../package.json'),
    ...('file' in kept ? [() => createRequire(import.meta.url)(kept.file) as UwsModule] : []),
    ...(where === 'anywhere' ? [packaged('../../../bench/package.json')] : []),
  ]) {
    try {
      return { uws: load() };
    } catch (error) {
      const lines = (error as Error).message.split('\n').filter((line) => line !== '');
      // If the binary does not fit the system, the last line of the error names the requirement.
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') reason = lines.at(-1)!;
    }
  }
  return { uws: null, reason };
}

/** Like `OpenListener`, with a loaded uWebSockets.js. */
export function openUwsListener(uws: UwsModule): OpenListener {
  return async (options) => {
    // Without this, every response would name the library.
    uws._cfg('silent');
    const holder = await openCorkHolder(uws);
    const state: UwsListenerState = {
      options,
      heads: new HeadCache(options.domains),
      addresses: new ClientAddresses(),
      draining: false,
      running: 0,
      onQuiet: null,
      accepting: null,
      holder,
      sockets: new Set(),
      waitingBytesMax: options.limits.webSocketBufferedBytesMax ?? defaultLimits.webSocketBufferedBytesMax,
    };
    const app = uws.App();
    const compression = uws.SHARED_COMPRESSOR | uws.SHARED_DECOMPRESSOR;
    const upgrade: UwsUpgrade = (response, request, context) => accept(state, response, request, context);
    app.ws('/*', uwsBehavior(options.limits, compression, upgrade));
    app.filter((response, count) => {
      if (count > (options.limits.connectionsMax ?? defaultLimits.connectionsMax)) response.close();
      else if (count > 0) state.addresses.opened(response);
    });
    app.any('/*', (response, request) => accept(state, response, request, null));

    let listening: object | null = null;
    const sharing = options.reusePort === true ? 0 : uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
    // The library cannot share a port that the system chooses, so the port is chosen first.
    const chosen = options.reusePort === true && options.port === 0 ? await openSharedPort(options.host) : null;
    app.listen(options.host, chosen?.port ?? options.port, sharing, (socket) => {
      listening = socket === false ? null : socket;
    });
    chosen?.server.close();
    if (listening === null) {
      holder.close();
      throw await listenError(options);
    }
    const listenSocket: object = listening;

    function stopAccepting(): void {
      if (listening === null) return;
      listening = null;
      uws.us_listen_socket_close(listenSocket);
    }
    let closing: Promise<void> | null = null;
    /**
     * The library reports each closed connection synchronously, and Node exits if this happens outside of the library's
     * own callbacks.
     */
    function cut(): Promise<void> {
      stopAccepting();
      closing ??= new Promise((resolve) => {
        setImmediate(() => {
          app.close();
          holder.close();
          resolve();
        });
      });
      return closing;
    }
    const port = uws.us_socket_local_port(listenSocket);

    const listener: Listener = {
      technology: 'uws',
      port,
      handOver: () => null,
      adopt: null,
      async drain(deadlineMs, idle = 'close') {
        state.draining = true;
        stopAccepting();
        for (const socket of state.sockets) socket.close(1012, 'Service restart');
        const until = performance.now() + deadlineMs;
        if (idle === 'wait')
          await new Promise((resolve) => setTimeout(resolve, Math.min(deadlineMs, options.limits.idleMs)));
        if (state.running > 0) {
          await new Promise<void>((resolve) => {
            const deadline = setTimeout(resolve, Math.max(0, until - performance.now()));
            const onQuiet = (): void => {
              clearTimeout(deadline);
              // The last response is only written when the native call that ends it returns.
              setImmediate(resolve);
            };
            state.onQuiet = onQuiet;
          });
        }
        await cut();
      },
      async close() {
        state.draining = true;
        await cut();
      },
    };
    return listener;
  };
}

const METHODS = new Set(process.getBuiltinModule('node:http').METHODS);

/** Copies the request object, and passes it on as an exchange. */
function accept(state: UwsListenerState, response: UwsResponse, request: UwsRequest, context: object | null): void {
  const { limits } = state.options;
  const method = request.getCaseSensitiveMethod();
  const query = request.getQuery();
  const target = query === undefined ? request.getUrl() : `${request.getUrl()}?${query}`;
  let headerBlock = '';
  let headerBytes = 0;
  let hostHeader: string | null = null;
  let problem = '';
  let bodyBytes = 0;
  let hasLength = false;
  let chunked = false;
  let closes = false;
  const isHandshake = context !== null && isWebSocketHandshake(method, (name) => request.getHeader(name) || null);
  request.forEach((name, value) => {
    headerBytes += name.length + value.length + 4;
    switch (name.length) {
      case 4:
        if (name === 'host') {
          if (hostHeader !== null) problem = 'The request has several Host headers';
          hostHeader = value;
        }
        break;
      case 10:
        if (name === 'connection' && value.toLowerCase() === 'close') closes = true;
        break;
      case 14:
        if (name === 'content-length') {
          // The library uses the first content-length to frame the body.
          if (!/^\d{1,15}$/.test(value) || hasLength) problem = 'The content-length is malformed';
          hasLength = true;
          bodyBytes = Number(value);
        }
        break;
      case 17:
        if (name === 'transfer-encoding') {
          if (chunked || value.toLowerCase() !== 'chunked')
            problem = 'The only supported transfer coding is chunked, once';
          chunked = true;
        }
        break;
    }
    if (!isHopByHop(name) || (isHandshake && name === 'upgrade')) headerBlock += `${name}\0${value}\0`;
  });
  if (chunked) {
    if (hasLength) problem = 'A body must not have both content-length and transfer-encoding';
    bodyBytes = -1;
  }
  if (!METHODS.has(method)) problem = 'The method is unknown';
  if (CONTROL_CHARACTER.test(target)) problem = 'The request target has control characters';
  const host = hostHeader === null ? null : hostFrom(hostHeader);
  if (host === null && problem === '')
    problem = hostHeader === null ? 'The Host header is missing' : 'The Host header must be a host name';

  const exchange = new UwsExchange(
    state,
    response,
    method,
    target,
    host ?? '',
    headerBlock,
    Number.isNaN(bodyBytes) ? 0 : bodyBytes,
  );
  if (closes) exchange.closeAfter();
  if (target.length > limits.urlBytesMax) exchange.refuse('url_too_long', { limit: limits.urlBytesMax });
  else if (headerBytes > limits.headerBytesMax) exchange.refuse('headers_too_large', { limit: limits.headerBytesMax });
  else if (problem !== '') exchange.refuse('bad_request', { reason: problem });
  else if (bodyBytes > limits.bodyBytesMax) exchange.refuse('body_too_large', { limit: limits.bodyBytesMax });
  else {
    if (isHandshake) exchange.offerUpgrade(context);
    state.accepting = exchange;
    try {
      state.options.onExchange(exchange);
    } finally {
      state.accepting = null;
      exchange.attach();
    }
  }
}

// oxlint-disable-next-line no-control-regex
const CONTROL_CHARACTER = /[\0-\x20\x7f]/;

/** Finds a free port and holds the port so that others can share it. */
function openSharedPort(host: string): Promise<{ server: Server; port: number }> {
  const server = createServer((socket) => socket.destroy());
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port: 0, host, reusePort: true }, () =>
      resolve({ server, port: (server.address() as AddressInfo).port }),
    );
  });
}

/** The library does not report a reason for the failure, but node:net does. */
function listenError(options: ListenerOptions): Promise<Error> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', resolve);
    probe.listen({ port: options.port, host: options.host }, () => {
      probe.close(() =>
        resolve(Object.assign(new Error(`listen EADDRINUSE: ${options.host}:${options.port}`), { code: 'EADDRINUSE' })),
      );
    });
  });
}
