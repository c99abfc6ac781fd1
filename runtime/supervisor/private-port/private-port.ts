// The private port: health, status, metrics and delivery of events, for operators and the platform's own services.
// Runs in the supervisor, which has no tenant code; calls engines over their Unix sockets. The port must not be
// reachable from outside.
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { lastBackup } from '#core/process/backup-runs.ts';
import { createBearerCheck } from '#core/process/bearer.ts';
import { closeIdleLate } from '#core/process/late-close.ts';
import { errorMessage, errorTable, PlatformError, type ErrorCode, type ErrorDetails } from '#core/errors.ts';
import { exposition, EXPOSITION_TYPE } from '../../engine/metrics/exposition.ts';
import { labels, type Sample } from '../../engine/metrics/report.ts';
import { check } from './check.ts';
import { createDelivery, type DeliveryDeps } from './delivery.ts';
import { readEdgeMetrics } from './edge-metrics.ts';
import { readFromEngine, type EngineAnswer } from '../engines/engine-calls.ts';
import { readLogs } from './logs.ts';
import { MetricsCollector } from './metrics-collector.ts';
import { createOperations, operations } from './operations.ts';
import { readJsonBody } from './json-body.ts';
import type { PrivatePortSettings } from './settings.ts';
import type { SupervisorState } from '../engines/state.ts';
import { routesAgeSeconds } from '../services/routes-age.ts';
import type { TelemetryBuffer } from './telemetry.ts';
import type { UsageLedger } from './usage.ts';

// `node:http` is not imported, because an import also loads Node's HTTP client, which costs every process 65 ms of CPU.
const { createServer } = process.getBuiltinModule('node:http');

/** As for every listener: without `keepAliveTimeoutBuffer`, Node closes a connection a second later than announced. */
const IDLE_MS = 5000;

/** Dependencies of the private port. */
export interface PrivatePortDeps extends Omit<DeliveryDeps, 'state'> {
  readonly settings: PrivatePortSettings;
  /** Token of the user who started the platform (local-record.ts): opens every route. */
  readonly localToken: string;
  readonly usage: Pick<UsageLedger, 'take'>;
  readonly telemetry: Pick<TelemetryBuffer, 'take'>;
  readonly version: string;
  readonly state: () => SupervisorState;
  /** Whether the platform is stopping: it is then alive, but not ready. */
  readonly isStopping: () => boolean;
  /** Whether the other parts are ready; used if no engines run on this machine. */
  readonly isReady?: () => boolean;
  readonly metricsDeploymentsMax: number;
  /** Unix socket of Caddy's metrics; null if there is no edge here. */
  readonly edgeMetricsSocket?: () => string | null;
  /** The last backup, if this supervisor makes backups. */
  readonly backups?: () => LastBackup | null;
}

type LastBackup = NonNullable<ReturnType<typeof lastBackup>>;

/** An open private port. */
export interface PrivatePort {
  readonly port: number;
  /** Adds the final metrics of an engine. */
  keepLastReport(engine: number, report: unknown): void;
  close(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

function backupSamples(last: LastBackup | null): Sample[] {
  const good = last?.goodAt ?? null;
  return [
    ['platform_backup_good_timestamp_seconds', '', good === null ? 0 : Date.parse(good) / 1000],
    ['platform_backup_failed', '', (last?.run.error ?? null) === null ? 0 : 1],
  ];
}

/** Opens the private port; rejects with the system's error (`EADDRINUSE`, `EACCES`) if the port is not available. */
export async function openPrivatePort(deps: PrivatePortDeps): Promise<PrivatePort> {
  const { settings, state } = deps;
  const metrics = new MetricsCollector({ deploymentsMax: deps.metricsDeploymentsMax, state });
  const deliveries = new Map<string, number>();
  const deliver = createDelivery(deps);
  const operate = createOperations(state);

  const routes: Readonly<Record<string, Readonly<Record<string, Answer>>>> = {
    '/_platform/health': { GET: (_request, response) => sendHealth(response, deps, true) },
    '/_platform/health/live': { GET: (_request, response) => sendHealth(response, deps, false) },
    '/_platform/health/ready': { GET: (_request, response) => sendHealth(response, deps, true) },
    '/_platform/status': { GET: async (_request, response) => sendJson(response, 200, await status(deps)) },
    '/metrics': {
      async GET(_request, response) {
        const own = [...deliveries].map(([given, count]): Sample => ['platform_deliveries_total', given, count]);
        const text = exposition([
          ...(await metrics.samples()),
          ...own,
          ...(deps.backups === undefined ? [] : backupSamples(deps.backups())),
        ]);
        response.writeHead(200, { 'content-type': EXPOSITION_TYPE, 'cache-control': 'no-store' });
        response.end(text);
      },
    },
    '/metrics/edge': {
      async GET(_request, response) {
        const socket = deps.edgeMetricsSocket?.() ?? null;
        if (socket === null) throw new PlatformError('internal_route_not_found', { path: '/metrics/edge' });
        const text = await readEdgeMetrics(socket);
        response.writeHead(200, { 'content-type': EXPOSITION_TYPE, 'cache-control': 'no-store' });
        response.end(text);
      },
    },
    '/_platform/logs': {
      GET: async (request, response) => sendJson(response, 200, await readLogs(request.url ?? '', state)),
    },
    '/_platform/usage': {
      async POST(request, response) {
        const { value } = await readJsonBody(request, 1024);
        sendJson(response, 200, deps.usage.take((value as { acknowledged?: unknown } | null)?.acknowledged));
      },
    },
    '/_platform/telemetry': {
      async POST(request, response) {
        const { value } = await readJsonBody(request, 1024);
        sendJson(response, 200, await deps.telemetry.take(value));
      },
    },
    '/_platform/check': {
      async POST(request, response) {
        const answer = await check(request, state, deps.bodyBytesMax);
        if (!('body' in answer)) return sendJson(response, 200, answer);
        sendAnswer(response, answer as EngineAnswer);
      },
    },
    ...Object.fromEntries(
      Object.keys(operations).map((name) => [
        `/_platform/${name}`,
        { POST: async (request, response) => sendAnswer(response, await operate(name, request)) } satisfies Record<
          string,
          Answer
        >,
      ]),
    ),
    '/_platform/deliver': {
      async POST(request, response) {
        const { kind, status: code, contentType, body } = await deliver(request, response);
        const given = labels({ kind, status: String(code) });
        deliveries.set(given, (deliveries.get(given) ?? 0) + 1);
        if (response.destroyed) return;
        response.writeHead(code, { 'content-type': contentType, ...(code === 503 ? { 'retry-after': '1' } : {}) });
        response.end(body);
      },
    },
  };

  const isOwner = createBearerCheck(deps.localToken);
  const isOperator = createBearerCheck(settings.token);
  const server = createServer(
    {
      requestTimeout: 60_000,
      headersTimeout: 10_000,
      keepAliveTimeout: IDLE_MS,
      keepAliveTimeoutBuffer: 0,
      maxHeaderSize: 16 * 1024,
    },
    (request, response) => {
      const path = (request.url ?? '').split('?', 1)[0]!;
      void handle(path, request, response).catch((error: unknown) => {
        if (response.headersSent) response.destroy();
        else if (error instanceof PlatformError) sendError(response, error.code, error.details);
        else sendError(response, 'internal', {});
      });
    },
  );
  server.maxConnections = 1000;
  closeIdleLate(server);

  async function handle(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Only browsers send an Origin, and web pages may not use ports of their visitor's machine.
    if (request.headers.origin !== undefined)
      throw new PlatformError('private_port_forbidden', { reason: 'requests of web pages are not allowed' });
    const route = Object.hasOwn(routes, path) ? routes[path] : undefined;
    if (route === undefined) throw new PlatformError('internal_route_not_found', { path: path.slice(0, 200) });
    const { authorization } = request.headers;
    if (!path.startsWith('/_platform/health') && !isOwner(authorization) && !isOperator(authorization)) {
      response.setHeader('www-authenticate', 'Bearer');
      throw new PlatformError('private_port_unauthorized');
    }
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
    const answer = Object.hasOwn(route, method) ? route[method] : undefined;
    if (answer === undefined) {
      const allowed = Object.keys(route).flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]));
      response.setHeader('allow', allowed.join(', '));
      throw new PlatformError('method_not_allowed', { method: method.slice(0, 32) });
    }
    await answer(request, response);
  }

  await listen(server, settings);
  return {
    port: (server.address() as AddressInfo).port,
    keepLastReport: (engine, report) => metrics.keepLast(engine, report),
    async close() {
      metrics.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function listen(server: Server, { port, host }: PrivatePortSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

/** The platform is ready when an engine accepts requests and the platform is not stopping. */
function sendHealth(
  response: ServerResponse,
  { state, isStopping, isReady }: PrivatePortDeps,
  wantsReady: boolean,
): void {
  const { engines, services } = state();
  const accepts =
    isReady === undefined
      ? engines.some((engine) => engine.role === 'serving' && engine.state === 'listening')
      : isReady() && services.every(({ state: at }) => at === 'ready' || at === 'stopped');
  const ready = !isStopping() && accepts;
  const age = routesAgeSeconds(services);
  const routes = age === null ? {} : { routesAgeSeconds: age };
  sendJson(response, ready || !wantsReady ? 200 : 503, { live: true, ready, ...routes });
}

/** The whole state, with each engine's own status; an engine that does not answer in time is shown with the reason. */
async function status({ version, state, isStopping }: PrivatePortDeps): Promise<object> {
  const { engines, services, ...own } = state();
  const asked = await Promise.all(
    engines.map(async ({ socketPath, ...engine }) => {
      if (engine.state === 'starting') return { ...engine, status: null };
      try {
        return { ...engine, status: await readFromEngine(socketPath, '/_platform/status') };
      } catch (error) {
        return { ...engine, status: null, problem: (error as Error).message };
      }
    }),
  );
  return {
    version,
    node: process.version,
    v8: process.versions.v8,
    pid: process.pid,
    rssBytes: process.memoryUsage.rss(),
    stopping: isStopping(),
    ...own,
    // The metrics of services are left out, because they are only for /metrics.
    services: services.map(({ name, pid, state: at, restarts }) => ({ name, pid, state: at, restarts })),
    engines: asked,
  };
}

function sendAnswer(response: ServerResponse, { status: code, contentType, body }: EngineAnswer): void {
  if (response.destroyed) return;
  response.writeHead(code, { 'content-type': contentType, 'cache-control': 'no-store' });
  response.end(body);
}

function sendJson(response: ServerResponse, code: number, body: unknown): void {
  response.writeHead(code, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

function sendError(response: ServerResponse, code: ErrorCode, details: ErrorDetails): void {
  sendJson(response, errorTable[code].status, { error: errorMessage(code, details), code });
}
