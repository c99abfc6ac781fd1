// Proxy from a sandbox to the AI gateway, which the sandbox's network may not reach: the service forwards requests,
// only to SANDBOX_AI_URL and below, without adding credentials. Used by backend.ts, once per container. The input is
// untrusted.
import { createServer, request as askHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { request as askHttps } from 'node:https';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Maximum concurrent requests of one sandbox. */
const CALLS_MAX = 32;
const HEADERS_BYTES_MAX = 64 * 1024;
const PREFIX = '/ai';
/** Hop-by-hop headers, and headers that the gateway's front only accepts from its own proxies and browsers. */
const OWN_HEADERS =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host|cookie|forwarded|via|x-forwarded-.*|x-real-ip|x-platform-.*)$/;

/** @param aiUrl `SANDBOX_AI_URL`, without a trailing slash. @returns a handler for connections of one sandbox. */
export function createAiProxy(aiUrl: string): (connection: Duplex) => void {
  const base = new URL(aiUrl);
  const ask = base.protocol === 'https:' ? askHttps : askHttp;
  let calls = 0;

  async function pass(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const below = pathBelow(asked.url ?? '');
    if (below === null) return refuse(answer, 403, `Sandboxes can only reach ${PREFIX} at this address`);
    if (calls >= CALLS_MAX)
      return refuse(answer, 429, `A sandbox can have ${CALLS_MAX} concurrent calls to the AI gateway`);
    calls++;
    try {
      const gone = new AbortController();
      answer.once('close', () => gone.abort());
      const headers = headersOf(asked);
      const outgoing = ask(`${base.origin}${base.pathname.replace(/\/$/, '')}${below}`, {
        method: asked.method,
        headers: hasBody(asked) ? headers : { ...headers, 'content-length': '0' },
        signal: gone.signal,
      });
      const answered = new Promise<IncomingMessage>((resolve, reject) => {
        outgoing.once('response', resolve).once('error', reject);
      });
      // The response may arrive before the request is completely sent.
      pipeline(asked, outgoing).catch(() => {});
      const said = await answered;
      answer.writeHead(said.statusCode ?? 502, headersOf(said));
      answer.flushHeaders();
      await pipeline(said, answer);
    } finally {
      calls--;
    }
  }

  const server = createServer({ maxHeaderSize: HEADERS_BYTES_MAX, requestTimeout: 0 }, (asked, answer) => {
    asked.on('error', () => {});
    answer.on('error', () => {});
    pass(asked, answer).catch(() => {
      if (answer.headersSent) answer.destroy();
      else refuse(answer, 502, 'The AI gateway does not answer');
    });
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  return (connection) => void server.emit('connection', connection);
}

/** Resolves a path; null means that it leads outside of the allowed URL. */
function pathBelow(target: string): string | null {
  const url = target.startsWith('/') ? URL.parse(target, 'http://sandbox') : null;
  if (url === null || url.host !== 'sandbox') return null;
  // Sequences that another server may read as `..` or a slash.
  if (/%2f|%5c|%2e|\\|\/\//i.test(url.pathname)) return null;
  if (url.pathname !== PREFIX && !url.pathname.startsWith(`${PREFIX}/`)) return null;
  return url.pathname.slice(PREFIX.length) + url.search;
}

function headersOf({ headers }: IncomingMessage): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || OWN_HEADERS.test(name) ? [] : [[name, value]],
    ),
  );
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || headers['content-length'] !== undefined;
}

function refuse(answer: ServerResponse, status: number, message: string): void {
  const text = JSON.stringify({ error: { message, type: 'sandbox', param: null, code: null } });
  answer.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }).end(text);
}
