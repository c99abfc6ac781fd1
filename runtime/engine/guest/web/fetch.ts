// `fetch`: the guest half. The host accesses the network (egress policy, limits, connection pool); requests and
// responses cross the bridge.
import type { HostCallName, Part } from '../../bridge/protocol.ts';
import { dropCall, startCall } from '../calls.ts';
import type { HostBody, HostReply } from '../host.ts';
import { prepareFetchedSocket } from '../sockets.ts';
import { abortBody, bodyToGuest } from '../bodies-to-guest.ts';
import { cancelPump, openPump } from '../pumps.ts';
import { fetchLocal, isLocal } from './local-fetch.ts';
import { Request, takeRequest } from './request.ts';
import { createIncomingResponse, type Response } from './response.ts';

interface Head {
  status: number;
  statusText: string;
  headers: string;
  url: string;
  redirected: boolean;
  /** Id of the stream that carries the body; null if the body is a part or does not exist. */
  stream: number | null;
  /** Whether the body came as a part. */
  part: boolean;
  /** Whether the requested WebSocket is open. */
  upgraded?: boolean;
  protocol?: string;
  extensions?: string;
  /** Whether messages of the socket wait until the worker reads it. */
  unread?: boolean;
}

const upgrade = /(?:^|\0)upgrade\0websocket\0/i;

// Streams from the guest that are not responses have negative ids, which never collide with ids of invocations or of
// the host.
let nextStream = -1;

/** Returns an id for a body that is sent to the host and is not a response. */
export function newStreamId(): number {
  return nextStream--;
}

/** The global `fetch`. */
export function fetch(input: unknown, init?: unknown): Promise<Response> {
  return fetchThrough('fetch', {}, input, init);
}

/** Creates functions such as `env.ASSETS.fetch`, which work like `fetch` with another target on the host. */
export function createFetcher(
  name: HostCallName,
  target: Record<string, string>,
): { fetch(input: unknown, init?: unknown): Promise<Response> } {
  return Object.freeze({ fetch: (input: unknown, init?: unknown) => fetchThrough(name, target, input, init) });
}

/** A request to a target on the host. */
export async function fetchThrough(
  name: HostCallName,
  target: Record<string, string>,
  input: unknown,
  init: unknown,
): Promise<Response> {
  // Constructing a Request validates everything and rejects with the TypeError of the Fetch Standard.
  const request = init === undefined && input instanceof Request ? input : new Request(input as never, init as never);
  const { method, url, headerBlock, body, redirect, signal, blob } = takeRequest(request);
  if (signal?.aborted) throw signal.reason;
  if (name === 'fetch' && isLocal(url)) return fetchLocal(method, url, blob);
  const parts: Part[] = [];
  let stream: number | null = null;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    parts.push(body);
  } else if (body !== null) {
    stream = nextStream--;
    openPump(stream, body, () => {});
  }
  // The stream is opened before the entry reads further records, because the first chunks may come in the same entry.
  let incoming: HostBody | null = null;
  const socket = canUpgrade(name) && method === 'GET' && upgrade.test(headerBlock) ? prepareFetchedSocket() : null;
  const args = {
    ...target,
    method,
    url,
    headers: headerBlock,
    redirect,
    stream,
    ...(socket === null ? {} : { socket: socket.id }),
  };
  const call = startCall(socket === null || name !== 'fetch' ? name : 'socket.connect', args, parts, (reply, owner) => {
    const { stream: id } = reply.value as Head;
    if (id === null) return;
    incoming = bodyToGuest(id, owner, true);
    // The call was aborted while the reply was on its way, so the response is closed.
    if (signal?.aborted) incoming.cancel();
  });
  let reply: HostReply;
  try {
    reply = signal === null ? await call.reply : await abortable(call, signal, stream);
  } catch (error) {
    socket?.refused();
    throw error;
  }
  const { value, parts: replyParts } = reply;
  const head = value as Head;
  if (head.upgraded === true) {
    const opened = socket!.opened(head.url, head.protocol!, head.extensions!, head.unread === true);
    return createIncomingResponse(head.status, head.statusText, head.headers, null, head.url, head.redirected, opened);
  }
  socket?.refused();
  const source = incoming ?? (head.part ? (replyParts[0] as Part) : null);
  if (signal !== null && head.stream !== null) {
    const id = head.stream;
    signal.addEventListener('abort', () => abortBody(id, signal.reason));
  }
  return createIncomingResponse(head.status, head.statusText, head.headers, source, head.url, head.redirected);
}

/** Calls whose response may be an open WebSocket. */
function canUpgrade(name: HostCallName): boolean {
  return name === 'fetch' || name === 'object.fetch' || name === 'service.fetch' || name === 'exports.fetch';
}

type Signal = NonNullable<ReturnType<typeof takeRequest>['signal']>;

function abortable(
  call: { id: number; reply: Promise<HostReply> },
  signal: Signal,
  stream: number | null,
): Promise<HostReply> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      dropCall(call.id);
      if (stream !== null) cancelPump(stream);
      reject(signal.reason);
    };
    signal.addEventListener('abort', onAbort);
    call.reply.then(
      (reply) => {
        signal.removeEventListener('abort', onAbort);
        resolve(reply);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', onAbort);
        reject(error);
      },
    );
  });
}
