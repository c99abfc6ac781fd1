// WebSockets to exposed ports: the handshake from an engine goes to the server in the sandbox, then bytes are forwarded
// both ways unchanged, while the sandbox is held. Limited per project and in time.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errorTable, isErrorCode, PlatformError, type ErrorCode } from '#core/errors.ts';
import { PORTS_PATH, type PortVisit } from '#core/sandbox/exposed-port.ts';
import { refusalOf } from './agent-refusal.ts';
import { askAgent } from './agent-request.ts';
import type { OwnedPort } from './exposed-ports.ts';
import { requestHeaders } from './port-heads.ts';
import type { PortVisits } from './port-visits.ts';
import { holderIn, FORWARDED_HEADER, type Sandboxes } from './held-sandboxes.ts';

/** Dependencies. */
interface PortTunnelsDeps {
  readonly sandboxes: Sandboxes;
  /** Checks the token in a request's `authorization`. */
  readonly isAuthorized: (authorization: string | undefined) => boolean;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
  /** Connects to another replica; null if it does not answer. */
  readonly elsewhere: ((owner: string) => Promise<Duplex | null>) | undefined;
  /** Null means that ports cannot be exposed. */
  readonly visits: PortVisits | null;
  readonly idleMs: number;
}

/** Headers of the handshake itself, which is between the engine and the server. */
const HANDSHAKE_HEADER = /^sec-websocket-(?:key|version|protocol)$/;

export function createPortTunnels(
  deps: PortTunnelsDeps,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const { visits, sandboxes, isAuthorized, elsewhere, idleMs, log } = deps;

  async function tunnel(
    found: OwnedPort,
    visit: PortVisit,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const { port } = found;
    const held = await sandboxes.holdKey(found.place, found.key);
    const ended = new AbortController();
    const end = (): void => ended.abort();
    socket.once('close', end);
    const timer = setTimeout(end, idleMs);
    async function* watched(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        timer.refresh();
        yield chunk;
      }
    }
    async function* sent(): AsyncGenerator<Buffer> {
      yield Buffer.from(handshakeOf(visit, request, port), 'latin1');
      if (head.length > 0) yield head;
      yield* watched(socket.iterator({ destroyOnReturn: false }));
    }
    try {
      const answer = await askAgent(await held.connect(), {
        operation: 'connect',
        args: encodeURIComponent(JSON.stringify({ port })),
        body: sent(),
        signal: ended.signal,
      });
      if (answer.statusCode !== 200) throw await refusalOf(answer);
      // After this point, the server in the sandbox sends the response.
      begun.add(socket);
      await pipeline(answer, watched, socket);
    } finally {
      clearTimeout(timer);
      held.release();
    }
  }
  /** Sockets on which a response has begun. */
  const begun = new WeakSet<Duplex>();

  /** Forwards a handshake unchanged to the replica that holds the sandbox. */
  async function forward(owner: string, request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const there = (await elsewhere?.(owner)) ?? null;
    if (there === null) throw new PlatformError('sandbox_unavailable', { reason: 'its replica is unavailable' });
    const lines = [`GET ${request.url} HTTP/1.1`, `${FORWARDED_HEADER}: 1`];
    for (let at = 0; at + 1 < request.rawHeaders.length; at += 2)
      lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`);
    there.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
    there.write(head);
    begun.add(socket);
    await Promise.all([pipeline(socket, there), pipeline(there, socket)]);
  }

  async function answer(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const { authorization } = request.headers;
    if (!isAuthorized(authorization)) throw new PlatformError('sandbox_unauthorized');
    const path = request.url ?? '';
    if (visits === null || !path.startsWith(PORTS_PATH) || request.method !== 'GET')
      throw new PlatformError('sandbox_operation_unknown', { operation: path.slice(0, 100) });
    await visits.upgrade(path.slice(PORTS_PATH.length), request, async (found, visit) => {
      try {
        await tunnel(found, visit, request, socket, head);
      } catch (error) {
        const holder = holderIn(error);
        if (holder === null || request.headers[FORWARDED_HEADER] !== undefined) throw error;
        await forward(holder.owner, request, socket, head);
      }
    });
  }

  return (request, socket, head) => {
    socket.on('error', () => {});
    answer(request, socket, head)
      .catch((error: unknown) => {
        if (begun.has(socket) || socket.destroyed) return;
        const { code, message } = error as { code?: unknown; message?: unknown };
        const known: ErrorCode = isErrorCode(code) ? code : 'internal';
        if (!isErrorCode(code))
          log('error', `a WebSocket to a sandbox failed: ${(error as Error).stack ?? String(error)}`);
        socket.end(refusal(known, String(message)));
      })
      .finally(() => begun.has(socket) && socket.destroy());
  };
}

/** Removes internal headers, since the response goes to the visitor unchanged. */
function refusal(code: ErrorCode, message: string): string {
  const { status, blame } = errorTable[code];
  const error = blame === 'platform' ? 'The sandbox is unavailable: try again' : message;
  const text = JSON.stringify({ error, code });
  return `HTTP/1.1 ${status} Refused\r\ncontent-type: application/json\r\ncache-control: no-store\r\nx-platform-error: ${code}\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close\r\n\r\n${text}`;
}

/** The handshake for the server: the visitor's headers with the engine's negotiation. */
function handshakeOf(visit: PortVisit, { headers }: IncomingMessage, port: number): string {
  const lines = [`GET ${visit.path} HTTP/1.1`, 'connection: Upgrade', 'upgrade: websocket'];
  for (const [name, value] of requestHeaders(visit, port))
    if (!name.startsWith('sec-websocket-')) lines.push(`${name}: ${value}`);
  for (const [name, value] of Object.entries(headers))
    if (HANDSHAKE_HEADER.test(name)) lines.push(`${name}: ${String(value)}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
