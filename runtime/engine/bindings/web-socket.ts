// The host half of WebSockets that a worker opens: a handshake under the egress policy, then the connection is passed
// to the bridge. Everything in `args` comes from a worker and is validated here.
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import type { WebSocket } from 'ws';
import type { EgressPolicy } from '#core/egress.ts';
import { PlatformError } from '#core/errors.ts';
import type { HostCall, HostFunction, HostReply, SyncHostFunction } from '../bridge/host-calls.ts';
import type { HostMemory } from '../bridge/host-memory.ts';
import type { SocketEvents, SocketWire } from '../bridge/sockets.ts';
import { withTrace } from './trace-headers.ts';
import { check, FORBIDDEN } from './fetch.ts';
import { reply, type FetchedResponse } from './fetched-response.ts';
import { checkRedirect, redirectTarget, SECRET_HEADERS } from './redirects.ts';

/** Dependencies of these calls. */
interface WebSocketDeps {
  readonly policy: EgressPolicy;
  /** Resolves host names for an isolate, under the same policy. */
  readonly lookupOf: (isolate: object) => LookupFunction;
  readonly messageBytesMax: number;
  /**
   * Adapts a connection of `ws` to a wire of the bridge. Loaded together with that package when the first connection is
   * opened.
   */
  readonly load: () => Promise<{
    wireOf(socket: WebSocket, events: SocketEvents, memory: HostMemory | null): SocketWire;
    readonly deflateOptions: object;
    readonly closeOptions: object;
  }>;
}

interface ConnectArguments {
  readonly url: string;
  readonly headers: string;
  readonly redirect: string;
  readonly socket: number;
}

const HANDSHAKE_MS = 30_000;

/** The handlers. */
export function createWebSockets(deps: WebSocketDeps): {
  calls: Readonly<Record<string, HostFunction>>;
  sync: Readonly<Record<string, SyncHostFunction>>;
} {
  return {
    calls: { 'socket.connect': (call) => connect(deps, call) },
    sync: {
      'socket.buffered': (args, _part, isolate) => {
        const { id } = (args ?? {}) as { id?: unknown };
        return typeof id === 'number' ? isolate.socketState(id) : null;
      },
    },
  };
}

async function connect(deps: WebSocketDeps, call: HostCall): Promise<HostReply> {
  const { url, headers, redirect, socket } = parse(call.args);
  let target = new URL(url);
  let list = toHeaders(headers);
  const [name, parent, stateName, state] = withTrace([], call.owner.trace, call.span?.id);
  call.span?.set('server.address', target.host);
  if (name !== undefined && list[name] === undefined)
    list = { ...list, [name]: [parent!], ...(state === undefined ? {} : { [stateName!]: [state] }) };
  for (let redirects = 0; ; redirects++) {
    call.owner.countSubrequest();
    check(target, deps.policy);
    const answer = await handshake(deps, call, target, list, socket);
    if (answer.response === null) return { value: answer.value };
    const response = toFetched(answer.response);
    const location = redirect === 'manual' ? null : redirectTarget(response, target);
    if (location === null) return reply(call, response, target, redirects > 0);
    answer.response.destroy();
    checkRedirect(location, redirect, redirects);
    if (location.origin !== target.origin)
      list = Object.fromEntries(Object.entries(list).filter(([name]) => !SECRET_HEADERS.test(name)));
    target = location;
  }
}

function parse(args: unknown): ConnectArguments {
  const { url, headers, redirect, socket } = (args ?? {}) as Record<string, unknown>;
  if (typeof url !== 'string' || !URL.canParse(url))
    throw new PlatformError('invalid_argument', { reason: 'The URL is not valid' });
  if (typeof headers !== 'string') throw new PlatformError('invalid_argument', { reason: 'The headers are not valid' });
  if (typeof redirect !== 'string')
    throw new PlatformError('invalid_argument', { reason: 'The redirect mode is not valid' });
  // Positive ids are ids of invocations, and belong to sockets that answer a request.
  if (!Number.isSafeInteger(socket) || (socket as number) >= 0)
    throw new PlatformError('invalid_argument', { reason: 'The socket is not valid' });
  return { url, headers, redirect, socket: socket as number };
}

const LEGAL_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function toHeaders(block: string): Record<string, string[]> {
  const headers: Record<string, string[]> = {};
  const fields = block.split('\0');
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const name = fields[at] as string;
    const value = fields[at + 1] as string;
    // The host sets the handshake headers; the worker chooses only the offered protocols.
    if (FORBIDDEN.test(name) || (name.startsWith('sec-websocket-') && name !== 'sec-websocket-protocol')) continue;
    if (!/^[a-z0-9!#$%&'*+\-.^_`|~]+$/.test(name) || !LEGAL_VALUE.test(value))
      throw new PlatformError('invalid_argument', { reason: `The header ${JSON.stringify(name)} is not valid` });
    (headers[name] ??= []).push(value);
  }
  headers['user-agent'] ??= ['platform'];
  return headers;
}

type Answer = { readonly response: IncomingMessage } | { readonly response: null; readonly value: object };

async function handshake(
  deps: WebSocketDeps,
  call: HostCall,
  target: URL,
  list: Readonly<Record<string, string[]>>,
  id: number,
): Promise<Answer> {
  const [{ WebSocket }, { wireOf, deflateOptions, closeOptions }] = await Promise.all([import('ws'), deps.load()]);
  if (call.signal.aborted) throw new PlatformError('fetch_failed', { reason: 'The handshake was aborted' });
  const address = new URL(target);
  address.protocol = target.protocol === 'https:' ? 'wss:' : 'ws:';
  const { 'sec-websocket-protocol': offered, ...headers } = list;
  const protocols = (offered ?? [])
    .join(',')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  let socket: WebSocket;
  try {
    socket = new WebSocket(address, protocols, {
      headers: headers as unknown as Record<string, string>,
      lookup: deps.lookupOf(call.isolate),
      followRedirects: false,
      handshakeTimeout: HANDSHAKE_MS,
      maxPayload: deps.messageBytesMax,
      perMessageDeflate: { ...deflateOptions, serverNoContextTakeover: false },
      ...closeOptions,
    });
  } catch (error) {
    throw new PlatformError('invalid_argument', { reason: (error as Error).message }, { cause: error });
  }
  const onAbort = (): void => socket.terminate();
  call.signal.addEventListener('abort', onAbort);
  try {
    return await new Promise<Answer>((resolve, reject) => {
      let head = '';
      socket.on('upgrade', (response) => {
        for (let at = 0; at < response.rawHeaders.length; at += 2)
          head += `${(response.rawHeaders[at] as string).toLowerCase()}\0${response.rawHeaders[at + 1] as string}\0`;
      });
      socket.on('unexpected-response', (_request, response) => resolve({ response }));
      socket.once('error', (error) => reject(toPlatformError(error, target)));
      socket.once('open', () => {
        socket.removeAllListeners('error');
        try {
          const bridged = call.isolate.openSocket(id, call.owner.id);
          bridged.attach(wireOf(socket, bridged, call.isolate.memory));
          const { protocol, extensions } = socket;
          resolve({
            response: null,
            value: {
              upgraded: true,
              status: 101,
              statusText: 'Switching Protocols',
              headers: head,
              url: target.href,
              redirected: false,
              stream: null,
              part: false,
              protocol,
              extensions,
            },
          });
        } catch (error) {
          socket.on('error', () => {});
          socket.terminate();
          reject(error as Error);
        }
      });
    });
  } finally {
    call.signal.removeEventListener('abort', onAbort);
  }
}

function toPlatformError(error: Error & { code?: string }, target: URL): PlatformError {
  if (error instanceof PlatformError) return error;
  const reason = `WebSocket connection to ${target.host} failed: ${error.code ?? error.message}`;
  return new PlatformError('fetch_failed', { reason }, { cause: error });
}

function toFetched(response: IncomingMessage): FetchedResponse {
  return {
    statusCode: response.statusCode!,
    statusText: response.statusMessage ?? '',
    headers: response.rawHeaders,
    body: response,
  };
}
