// Exposed ports of sandboxes on the public listener: proxies requests to their hosts to the sandbox service, and its
// responses to the visitor, as streams with back-pressure. The service decides who has access, and which data each side
// sees (sandbox/routes/port-visits.ts). Called for hosts without a deployment.
import { Readable } from 'node:stream';
import { errorTable, isErrorCode, type ErrorCode } from '#core/errors.ts';
import { exposedNameOf, PORTS_PATH, type PortVisit } from '#core/sandbox/exposed-port.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { ARGUMENTS_HEADER, RESPONSE_HEADER } from '#core/sandbox/operations.ts';
import type { FetchedResponse } from '../bindings/fetched-response.ts';
import type { SandboxTransport } from '../bindings/sandbox-transport.ts';
import type { Exchange } from '../http/listener.ts';
import { refusePort } from '../http/pages.ts';
import { publicOrigin } from '../http/public-origin.ts';
import { openProxiedSocket, type ProxiedSocket } from './proxied-socket.ts';

/** Dependencies. */
interface ExposedPortsDeps {
  readonly transport: Pick<SandboxTransport, 'request' | 'handshake'>;
  /** The platform's own domains, which contain the hosts of exposed ports. */
  readonly domains: readonly string[];
  readonly protocol: 'http' | 'https';
  /** `PUBLIC_PORT`; null means the port of the request. */
  readonly publicPort: number | null;
  /** Returns the request headers for a server, with the visitor's address and without forged headers. */
  readonly clientHeaders: (headerBlock: string, remoteAddress: string) => string;
  readonly webSocketMessageBytesMax: number;
}

export interface ExposedPorts {
  /** Responds to a request to a host of an exposed port; returns false if it is another host. */
  take(exchange: Exchange): boolean;
}

const NO_SOCKET = 'The server in the sandbox does not open the WebSocket';
const ERROR_BYTES_MAX = 64 * 1024;

export function createExposedPorts(deps: ExposedPortsDeps): ExposedPorts {
  const { domains } = deps;
  return {
    take(exchange) {
      const host = exchange.host.replace(/:\d*$/, '').replace(/\.$/, '');
      const name = exposedNameOf(host);
      if (name === null || !domains.includes(host.slice(host.indexOf('.') + 1))) return false;
      visit(deps, exchange, name).catch((error: unknown) => refusePort(exchange, codeOf(error), ''));
      return true;
    },
  };
}

async function visit(deps: ExposedPortsDeps, exchange: Exchange, name: string): Promise<void> {
  const args = encodeURIComponent(JSON.stringify(visitOf(deps, exchange)));
  if (args.length > SANDBOX_LIMITS.headerArgumentsCharsMax) return refusePort(exchange, 'headers_too_large', '');
  // Listeners only keep this header for valid handshakes.
  if (exchange.header('upgrade') !== null) return open(deps, exchange, `${PORTS_PATH}${name}`, args);
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  exchange.onAbort = leave;
  const response = await deps.transport.request({
    method: 'POST',
    path: `${PORTS_PATH}${name}`,
    headers: [ARGUMENTS_HEADER, args],
    body: bodyOf(exchange, gone.signal),
    signal: gone.signal,
  });
  if (gone.signal.aborted) return void response.body.destroy();
  if (response.statusCode === 200) return pass(exchange, response);
  const { code, message } = await refusalIn(response);
  refusePort(exchange, isErrorCode(code) ? code : 'sandbox_unavailable', String(message));
}

/**
 * Proxies a WebSocket: the handshake goes through the service to the server in the sandbox, which accepts or refuses
 * it.
 */
async function open(deps: ExposedPortsDeps, exchange: Exchange, path: string, args: string): Promise<void> {
  let socket: ProxiedSocket | null = null;
  let isGone = false;
  const leave = (): void => {
    isGone = true;
    socket?.cut();
  };
  exchange.onAbort = leave;
  const { headers, ...target } = await deps.transport.handshake(path);
  const sent = [...headers, ARGUMENTS_HEADER, args];
  socket = await openProxiedSocket(target, exchange, sent, deps.webSocketMessageBytesMax, {
    opened() {},
    refused() {},
    done() {},
    failed: () => refusePort(exchange, 'port_unreachable', NO_SOCKET),
  });
  if (isGone) socket.cut();
}

function visitOf(
  { protocol, publicPort, clientHeaders }: ExposedPortsDeps,
  { method, target, host, headerBlock, remoteAddress, bodyBytes }: Exchange,
): PortVisit {
  const fields = clientHeaders(headerBlock, remoteAddress).split('\0');
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) headers.push([fields[at]!, fields[at + 1]!]);
  const origin = publicOrigin(protocol, publicPort, host);
  return { origin, method, path: target, headers, bodyBytes: bodyBytes < 0 ? null : bodyBytes };
}

function bodyOf(exchange: Exchange, gone: AbortSignal): Readable | null {
  if (exchange.bodyBytes === 0) return null;
  const body = new Readable({ read: () => exchange.resumeBody() });
  // Handles errors before the body is read, and after its reader has ended.
  body.on('error', () => {});
  gone.addEventListener('abort', () => body.destroy(new Error('the visitor disconnected')));
  exchange.readBody({
    chunk: (bytes) => body.destroyed || body.push(bytes),
    end: () => void (body.destroyed || body.push(null)),
  });
  return body;
}

/** The headers come from an untrusted server through the service, so they are validated like those of a worker. */
function pass(exchange: Exchange, { headers, body }: FetchedResponse): void {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === RESPONSE_HEADER);
  const head = JSON.parse(decodeURIComponent(headers[at + 1] ?? '')) as {
    readonly status: number;
    readonly headers: readonly (readonly [string, string])[];
  };
  const block = head.headers.map(([name, value]) => `${name}\0${value}\0`).join('');
  const isBodiless = head.status === 204 || head.status === 304;
  try {
    if (isBodiless) exchange.send(head.status, block, null);
    else exchange.begin(head.status, block);
  } catch {
    body.destroy();
    return refusePort(exchange, 'port_unreachable', 'The server in the sandbox responded with forbidden headers');
  }
  if (isBodiless) return void body.destroy();
  const onAbort = (): void => void body.destroy();
  const onDrain = (): void => void body.resume();
  exchange.onAbort = onAbort;
  exchange.onDrain = onDrain;
  body.on('data', (chunk: Uint8Array) => {
    if (!exchange.write(chunk, true)) body.pause();
  });
  body.once('end', () => exchange.end());
  body.once('error', () => exchange.destroy());
}

async function refusalIn({ body }: FetchedResponse): Promise<{ readonly code?: unknown; readonly message?: unknown }> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > ERROR_BYTES_MAX) break;
    chunks.push(chunk);
  }
  try {
    return (JSON.parse(Buffer.concat(chunks).toString()) as { error?: object }).error ?? {};
  } catch {
    return {};
  }
}

function codeOf(error: unknown): ErrorCode {
  const { code } = error as { code?: unknown };
  // The error code of an unreachable service.
  return isErrorCode(code) && code !== 'fetch_failed' && errorTable[code].blame !== 'platform'
    ? code
    : 'sandbox_unavailable';
}
