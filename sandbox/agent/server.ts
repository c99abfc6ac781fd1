// The agent's HTTP server: one request per operation. Only the service connects, but requests are untrusted: each is
// answered or its connection closed, and the agent keeps running.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { errorTable, PlatformError } from '#core/errors.ts';
import { toFields, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { ARGUMENTS_HEADER, askedShape, type AskedOperation } from '#core/sandbox/operations.ts';
import { createOperations } from './operations.ts';
import type { AgentSettings } from './settings.ts';

const HEADERS_BYTES_MAX = 64 * 1024;

export function createAgentServer(settings: AgentSettings): Server {
  const operations = createOperations(settings);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const operation = (request.url ?? '').slice(1);
    const shape = askedShape(operation);
    if (request.method !== 'POST' || shape === null)
      throw new PlatformError('sandbox_operation_unknown', { operation: operation.slice(0, 64) });
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const fields = await fieldsOf(request, shape.body);
    const result = await operations[operation as AskedOperation]({ fields, request, response, gone: gone.signal });
    if (response.headersSent) return;
    const text = Buffer.from(JSON.stringify(result ?? null));
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': text.byteLength }).end(text);
  }

  const server = createServer({ maxHeaderSize: HEADERS_BYTES_MAX, requestTimeout: 0 }, (request, response) => {
    request.on('error', () => {});
    response.on('error', () => {});
    answer(request, response)
      .catch((error: unknown) => fail(response, error))
      // Reads the rest of a body: closing with unread data would reset the response.
      .finally(() => request.resume());
  });
  server.timeout = 0;
  return server;
}

async function fieldsOf(request: IncomingMessage, body: 'json' | 'raw'): Promise<Fields> {
  const text = body === 'raw' ? decodeHeader(request.headers[ARGUMENTS_HEADER]) : await textOf(request);
  let value: unknown;
  try {
    value = JSON.parse(text === '' ? '{}' : text);
  } catch {
    throw new PlatformError('invalid_argument', { reason: 'The arguments are not JSON' });
  }
  return toFields(value);
}

function decodeHeader(value: string | string[] | undefined): string {
  try {
    return decodeURIComponent(String(value ?? ''));
  } catch {
    throw new PlatformError('invalid_argument', {
      reason: `The header ${ARGUMENTS_HEADER} is not encoded correctly`,
    });
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const { argumentsBytesMax } = SANDBOX_LIMITS;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > argumentsBytesMax)
      throw new PlatformError('invalid_argument', {
        reason: `The arguments have more than ${argumentsBytesMax} bytes`,
      });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function fail(response: ServerResponse, error: unknown): void {
  // The response has begun, or the caller has disconnected.
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const known = error instanceof PlatformError;
  if (!known) process.stderr.write(`agent: ${(error as Error)?.stack ?? String(error)}\n`);
  const code = known ? error.code : 'internal';
  const message = known ? error.message : `The agent of the sandbox failed: ${(error as Error).message}`;
  const text = JSON.stringify({ error: { code, message } });
  response.writeHead(errorTable[code].status, { 'content-type': 'application/json' }).end(text);
}
