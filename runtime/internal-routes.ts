// What an engine answers on its Unix socket: `/_platform/...`, for the supervisor and whoever comes through its private port. The
// public port never leads here. Made by main.ts.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { errorMessage } from '#core/errors.ts';
import { invocationKinds } from '#core/plans.ts';
import type { createEngineReports } from './engine-reports.ts';
import type { Handler } from './handler.ts';
import type { DeliveryEnd, EventKind } from './invocation/delivery.ts';
import { outcomeLabel } from './invocation/outcome.ts';

/** One answer. */
export interface InternalAnswer {
  readonly status: number;
  /** Becomes JSON. */ readonly body: unknown;
}

/** A route: method and path, what it does with the body of a POST. */
export type InternalRoutes = Readonly<Record<string, (body: unknown) => InternalAnswer | Promise<InternalAnswer>>>;

/** The routes of an engine. */
export function internalRoutes(handler: Pick<Handler, 'deliver'>, reports: ReturnType<typeof createEngineReports>): InternalRoutes {
  return {
    'GET /_platform/status': () => ({ status: 200, body: reports.status() }),
    'GET /_platform/metrics': () => ({ status: 200, body: reports.metrics() }),
    'POST /_platform/deliver': async (body) => {
      const { deployment, kind, event } = (body ?? {}) as Record<string, unknown>;
      if (typeof deployment !== 'string' || !isEventKind(kind) || event === undefined)
        return refusal(400, 'A delivery is {"deployment": "<id>", "kind": "queue|timer|cron|workflow", "event": {...}}');
      return { status: 200, body: delivered(await handler.deliver(deployment, kind, JSON.stringify(event))) };
    },
  };
}

/** Serves routes on a Unix socket; resolves when it listens. @param bodyBytesMax of a POST. */
export function openInternalPort(routes: InternalRoutes, socketPath: string, bodyBytesMax: number): Promise<Server> {
  const server = createServer({ requestTimeout: 60_000, keepAliveTimeout: 60_000 }, (request, response) => {
    void answer(routes, request, bodyBytesMax).then(({ status, body }) => {
      const text = JSON.stringify(body);
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
      response.end(text);
    });
  });
  // A delivery may take as long as its event may.
  server.timeout = 0;
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(socketPath, () => resolve(server));
  });
}

async function answer(routes: InternalRoutes, request: IncomingMessage, bodyBytesMax: number): Promise<InternalAnswer> {
  const route = `${request.method} ${request.url}`;
  if (!Object.hasOwn(routes, route)) return refusal(404, `No internal route ${route}`);
  try {
    const text = await readText(request, bodyBytesMax);
    if (text === null) return refusal(413, `The body is larger than ${bodyBytesMax} bytes`);
    let body: unknown;
    try {
      body = text === '' ? undefined : JSON.parse(text);
    } catch {
      return refusal(400, 'The body is not JSON');
    }
    return await routes[route]!(body);
  } catch (error) {
    return refusal(500, (error as Error).message);
  }
}

async function readText(request: IncomingMessage, bytesMax: number): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.byteLength;
    if (bytes > bytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function refusal(status: number, error: string): InternalAnswer {
  return { status, body: { error, code: status === 500 ? 'internal' : 'bad_request' } };
}

function isEventKind(kind: unknown): kind is EventKind {
  return kind !== 'http' && (invocationKinds as readonly unknown[]).includes(kind);
}

function delivered({ outcome, result, cpuMs }: DeliveryEnd): object {
  const ended = { outcome: outcomeLabel(outcome), result: result === null ? null : (JSON.parse(result) as unknown), cpuMs };
  return outcome.kind === 'ok' ? ended : { ...ended, error: errorMessage(outcome.code, outcome.details) };
}
