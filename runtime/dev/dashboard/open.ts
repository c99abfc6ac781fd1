// The dashboard of `platform dev`: connects runtime/dev/dashboard to the engine, and adds a second deployment, which
// has the project's bindings and serves `/rpc`. Opened by dev.ts.
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { hashOf } from '#core/artifact-id.ts';
import type { Limits } from '#core/limits.ts';
import { createBearerCheck } from '#core/process/bearer.ts';
import { rpcWorkerCode } from '#core/rpc/worker-code.ts';
import { toWorkerText } from '#core/worker-text.ts';
import type { SandboxInfo } from '#core/sandbox/operations.ts';
import { callSandbox, toJson, type SandboxService } from '#resources/sandbox-calls.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { ResourceDeps } from '../../engine/resources/request-scope.ts';
import type { Route } from '../../engine/router/project-routes.ts';
import type { Exchange } from '../../engine/http/listener.ts';
import type { Activity } from './activity.ts';
import type { ShownDeployment } from './api.ts';
import { createRpcExchange, type RpcCall } from './rpc-exchange.ts';
import { openDashboard } from './server.ts';

const SANDBOXES_MAX = 1000;
const LIST_MS = 30_000;

/** Dependencies of the dashboard. */
interface LocalDashboardDeps {
  readonly project: string;
  readonly limits: Limits;
  readonly activity: Activity;
  readonly resources: ResourceDeps;
  readonly sandboxes: SandboxService;
  readonly log: (level: 'warn' | 'error', message: string) => void;
  /** Folder of dev's state. */
  readonly stateFolder: string;
  readonly address: { readonly host: string; readonly port: number };
  /** URL of the project. */
  readonly url: string;
  /** The AI gateway, for requests with a token, or null. */
  readonly ai: ((request: Request) => Promise<Response>) | null;
  /** Called with finished requests, in the same format as for a handler. */
  readonly serveHere: (key: string, exchange: Exchange) => boolean;
}

/** An open dashboard. */
export interface LocalDashboard {
  readonly url: string;
  /** Variables for workers. */
  readonly vars: Readonly<Record<string, string>>;
  /**
   * Returns the deployment that handles a deployment's events. Without a worker, the app handles them, and the
   * dashboard's own deployment calls it.
   */
  eventsOf(deployment: string): string;
  /** The deployment that serves `/rpc`, and its artifact. */
  findDeployment(id: string): Route | null;
  openArtifact(id: string): OpenArtifact | null;
  /** Sets the served deployment; returns the routes of the dashboard itself. */
  show(route: Route, artifact: OpenArtifact, config: unknown): readonly Route[];
  close(): Promise<void>;
}

/**
 * Opens the dashboard. If its port is not available, prints a warning and returns null, because the project can be used
 * without it.
 */
export async function openLocalDashboard(deps: LocalDashboardDeps): Promise<LocalDashboard | null> {
  const { project, limits, activity, address, url } = deps;
  const ownCode = Buffer.from(rpcWorkerCode(limits.dashboardBodyBytesMax));
  const ownText = toWorkerText(ownCode);
  const ownWorker = { hash: hashOf(ownCode), bytes: ownCode.byteLength, mapHash: null };
  let shown: ShownDeployment | null = null;
  let own: { readonly route: Route; readonly artifact: OpenArtifact } | null = null;
  let served: { readonly route: Route; readonly artifact: OpenArtifact } | null = null;

  const token = randomBytes(32).toString('base64url');
  const isAuthorized = createBearerCheck(token);

  function rpc(call: RpcCall, response: ServerResponse): void {
    const called = own;
    const exchange = createRpcExchange(call, response, {
      host: new URL(url).host,
      bodyBytesMax: limits.bodyBytesMax,
    });
    if (called === null || !deps.serveHere(`${project}/${called.route.deployment}`, exchange)) exchange.destroy();
  }

  async function sandboxesOf(resource: string): Promise<readonly SandboxInfo[]> {
    const place = { project: deps.resources.namespaceOf(project), resource };
    const args = { limit: SANDBOXES_MAX, prefix: '', cursor: '' };
    const answer = await callSandbox(deps.sandboxes, place, { operation: 'list', args }, AbortSignal.timeout(LIST_MS));
    return ((await toJson(answer)) as { readonly items: readonly SandboxInfo[] }).items;
  }

  let opened: Awaited<ReturnType<typeof openDashboard>>;
  try {
    const names = (): string[] => [project, String((shown?.config as { name?: unknown } | null)?.name ?? project)];
    opened = await openDashboard(
      { ...deps, current: () => shown, url: () => url, rpc, sandboxesOf, isAuthorized, names, served: () => served },
      address,
    );
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const reason = code === 'EADDRINUSE' ? `port ${address.port} of ${address.host} is taken` : message;
    deps.log('warn', `There is no dashboard: ${reason}. Choose another port with --dashboard-port`);
    return null;
  }
  const at = `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${opened.port}`;

  // The file is for programs that run next to dev; only the user of dev can read its folder.
  const addressFile = join(deps.stateFolder, `mock-server-${project}.json`);
  writeFileSync(addressFile, JSON.stringify({ url: at, token }), { mode: 0o600 });

  return {
    url: at,
    vars: { PLATFORM_DASHBOARD_URL: at, PLATFORM_MOCK_SERVER_URL: at, PLATFORM_MOCK_SERVER_TOKEN: token },
    eventsOf: (deployment) =>
      served?.route.deployment === deployment && served.artifact.manifest.worker === null
        ? `${deployment}${ownSuffix}`
        : deployment,
    findDeployment: (id) => (own?.route.deployment === id ? own.route : null),
    openArtifact: (id) => (own?.artifact.id === id ? own.artifact : null),
    show(route, artifact, config) {
      served = { route, artifact };
      const { id, manifest } = artifact;
      const ownArtifact: OpenArtifact = {
        ...artifact,
        id: `${id}${ownSuffix}`,
        manifest: { ...manifest, worker: ownWorker },
        workerText: () => ownText,
        sourceMap: () => null,
      };
      own = {
        route: { ...route, deployment: `${route.deployment}${ownSuffix}`, artifact: ownArtifact.id },
        artifact: ownArtifact,
      };
      const { deployment } = route;
      shown = { id: deployment, manifest, variables: Object.keys(route.vars).toSorted(), config };
      activity.note({ type: 'deployed', deployment });
      return [own.route];
    },
    async close() {
      rmSync(addressFile, { force: true });
      await opened.close();
    },
  };
}

/** Id of the dashboard's own deployment, which no deployment of a project has. */
const ownSuffix = '-rpc';

/** Whether a deployment is the dashboard's own. */
export function isOfDashboard(deployment: string): boolean {
  return deployment.endsWith(ownSuffix);
}
