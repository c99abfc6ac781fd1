// Servers in the sandbox: sends requests to them on the loopback interface, and waits for them to listen.
import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type LookupFunction } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { PlatformError } from '#core/errors.ts';
import { toPort, toPortRequest, toWhole, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { RESPONSE_HEADER } from '#core/sandbox/operations.ts';

/** IPv4 and IPv6, since a server may listen on either. */
const lookup: LookupFunction = (_host, _options, then) =>
  then(null, [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]);
const POLL_MS = 50;
const WAIT_MS = 60_000;
const TOO_LARGE = 'the headers of its answer are too large';

/** Proxies a request to a port. */
export async function fetchFromPort(fields: Fields, body: IncomingMessage, response: ServerResponse): Promise<void> {
  const { port, method, path, headers, bodyBytes } = toPortRequest(fields);
  const outgoing = httpRequest({
    host: 'localhost',
    port,
    method,
    path,
    headers: [
      ...(headers.some(([name]) => name.toLowerCase() === 'host') ? [] : ['host', `localhost:${port}`]),
      ...headers.flat(),
      // Simple servers need a content length.
      ...(bodyBytes === null || isBodiless(method) ? [] : ['content-length', String(bodyBytes)]),
    ],
    lookup,
    agent: false,
    maxHeaderSize: SANDBOX_LIMITS.headerArgumentsCharsMax,
  });
  const gone = (): void => void outgoing.destroy();
  response.once('close', gone);
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      outgoing.once('response', resolve).once('error', reject);
      if (isBodiless(method)) outgoing.end();
      else pipeline(body.iterator({ destroyOnReturn: false }), outgoing).catch(reject);
    });
    const head = encodeURIComponent(
      JSON.stringify({
        status: answer.statusCode,
        statusText: answer.statusMessage,
        headers: pairsOf(answer.rawHeaders),
      }),
    );
    if (head.length > SANDBOX_LIMITS.headerArgumentsCharsMax) {
      answer.destroy();
      throw new PlatformError('port_unreachable', { port, reason: TOO_LARGE });
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream', [RESPONSE_HEADER]: head });
    response.flushHeaders();
    await pipeline(answer, response);
  } catch (error) {
    if (error instanceof PlatformError) throw error;
    throw new PlatformError('port_unreachable', { port, reason: reasonOf(error) });
  } finally {
    response.off('close', gone);
  }
}

/** Proxies a raw connection to a port: the request body is sent there, and its output is the response. */
export async function connectToPort(fields: Fields, body: IncomingMessage, response: ServerResponse): Promise<void> {
  const port = toPort(fields['port']);
  const socket = connect({ host: 'localhost', port, lookup, autoSelectFamily: true });
  const gone = (): void => void socket.destroy();
  response.once('close', gone);
  try {
    await new Promise((resolve, reject) => void socket.once('connect', resolve).once('error', reject));
  } catch (error) {
    throw new PlatformError('port_unreachable', { port, reason: reasonOf(error) });
  }
  response.writeHead(200, { 'content-type': 'application/octet-stream' });
  response.flushHeaders();
  // Each direction can end separately. The connection ends when the server ends its direction.
  pipeline(body.iterator({ destroyOnReturn: false }), socket).catch(gone);
  await pipeline(socket, response);
}

const isBodiless = (method: string): boolean => method === 'GET' || method === 'HEAD';

function pairsOf(raw: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) pairs.push([raw[at]!, raw[at + 1]!]);
  return pairs;
}

function reasonOf(error: unknown): string {
  const { code, message, errors } = error as NodeJS.ErrnoException & { errors?: readonly NodeJS.ErrnoException[] };
  const known = code ?? errors?.[0]?.code;
  if (known === 'ECONNREFUSED') return 'nothing listens there';
  if (known === 'HPE_HEADER_OVERFLOW') return TOO_LARGE;
  return known?.startsWith('HPE_') === true ? `it does not answer with valid HTTP (${known})` : (known ?? message);
}

/** Resolves when a server listens on a port. */
export async function waitForPort(fields: Fields, gone: AbortSignal): Promise<void> {
  const port = toPort(fields['port']);
  const limitMs = toWhole(fields['timeoutMs'], 'timeoutMs', {
    least: 1,
    most: SANDBOX_LIMITS.commandMsMax,
    otherwise: WAIT_MS,
  });
  const until = performance.now() + limitMs;
  while (!(await listens(port))) {
    if (gone.aborted) return;
    if (performance.now() >= until)
      throw new PlatformError('port_unreachable', { port, reason: `nothing listened there within ${limitMs} ms` });
    await pause(POLL_MS);
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: 'localhost', port, lookup, autoSelectFamily: true });
    socket
      .once('connect', () => {
        socket.destroy();
        resolve(true);
      })
      .once('error', () => resolve(false));
  });
}
