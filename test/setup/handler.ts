// A whole handler in this process for integration tests: real builder, real artifacts, real isolates, a real socket.
// One engine per test file; `close` checks that nothing is left running.
import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { build } from '#builder/build/build.ts';
import { defaultLimits, type Limits } from '#core/limits.ts';
import type { EgressPolicy } from '#core/egress.ts';
import type { RouteOwner, RouteRecord } from '#core/manifest.ts';
import type { Plan } from '#core/plans.ts';
import { parseProjectConfig, type ProjectConfig } from '#core/config/project-config.ts';
import type { RequestRecord } from '#runtime/engine/invocation/request-record.ts';
import type { AuthRoutes } from '#runtime/engine/auth/routes.ts';
import type { AiAddress } from '#runtime/engine/bindings/ai-transport.ts';
import type { SandboxTransport } from '#runtime/engine/bindings/sandbox-transport.ts';
import type { BindingStores } from '#runtime/engine/bindings/bindings.ts';
import { noStores } from './no-stores.ts';
import { createEngine, type Engine } from '#runtime/engine/serving/engine.ts';
import { createHandler, type Handler } from '#runtime/engine/handler.ts';
import type { EventKind } from '#core/event.ts';
import { outcomeLabel } from '#runtime/engine/invocation/outcome.ts';
import type { LogLine } from '#runtime/engine/invocation/log.ts';
import { cacheFolder } from '#core/process/cache-folder.ts';
import { openArtifact } from '#artifacts/artifact-source.ts';
import { createRouteTable } from '#runtime/engine/router/route-table.ts';
import { createSignedFiles } from '#runtime/engine/http/signed-files.ts';
import { createAssetServer } from '#runtime/engine/assets/assets.ts';
import { createPlatformHosts } from '#runtime/engine/http/platform-hosts.ts';
import { chooseListener } from '#runtime/engine/http/choose-listener.ts';
import { createActivity } from '#runtime/dev/dashboard/activity.ts';
import { openLocalDashboard, type LocalDashboard } from '#runtime/dev/dashboard/open.ts';
import { createMemoryCache } from '#runtime/stores/cache-memory.ts';
import { startNodeWorkers } from './node-workers.ts';
import { send, type TestRequest, type TestResponse } from './send.ts';

export { send, type TestRequest, type TestResponse } from './send.ts';

/** CI runs some of the files over uWebSockets.js as well. */
const overUws = process.env['TEST_LISTENER'] === 'uws';

/** Options of a test that the listener over uWebSockets.js cannot pass; what it does instead is the reason. */
export function notOverUws(reason: string): { skip: string | false } {
  return { skip: overUws && `uWebSockets.js ${reason}` };
}

/** CI runs suites of bindings with the workers in Node as well, whose bindings come from the mock server. */
const inNode = process.env['TEST_BINDINGS'] === 'node';

/** Options of a test of what only a worker in an isolate has, and why. */
export function onlyInIsolates(reason: string): { skip: string | false } {
  return { skip: inNode && reason };
}

/** A worker to serve: its files by path, or the text of its `src/index.ts`. */
export interface WorkerSource {
  readonly files: Readonly<Record<string, string>> | string;
  /** A folder to build instead of `files`. */
  readonly folder?: string;
  /** What was built already, instead of either. */
  readonly artifact?: { readonly id: string; readonly folder: string };
  /** Text of its platform.yaml. */
  readonly yaml?: string;
  readonly vars?: Readonly<Record<string, string>>;
  readonly plan?: Plan;
  readonly owner?: RouteOwner;
}

/** A handler under test. */
export interface TestHandler {
  readonly port: number;
  readonly engine: Engine;
  readonly handler: Handler;
  readonly logs: (LogLine & { project: string })[];
  readonly requests: RequestRecord[];
  /** Requests `http://<project>.localhost<path>`. */
  fetch(project: string, path?: string, options?: TestRequest): Promise<TestResponse>;
  /** Id of what a project has in production. */
  deploymentOf(project: string): string;
  /** Folder of the artifact that a project serves. */
  artifactFolder(project: string): string;
  /** Gives an event to the production deployment of a project; the result is parsed. */
  deliver(project: string, kind: EventKind, event: unknown): Promise<{ outcome: string; result: unknown }>;
  /** Resolves when a log line of the project matches. */
  logged(project: string, pattern: RegExp): Promise<LogLine>;
  close(): Promise<void>;
}

const sourceRoot = join(import.meta.dirname, '../..');

/** Builds workers and serves them under `<name>.localhost`. */
export async function startHandler(
  workers: Readonly<Record<string, WorkerSource | string>>,
  overrides: Partial<Limits> = {},
  options: {
    readonly trustedProxies?: readonly string[];
    readonly stores?: BindingStores;
    readonly authRoutes?: AuthRoutes;
    readonly publicPort?: number;
    readonly ai?: AiAddress;
    readonly sandboxes?: SandboxTransport;
    readonly egress?: EgressPolicy;
    /** Whether fetches to `<name>.localhost` without a port stay inside. */
    readonly staysInside?: boolean;
  } = {},
): Promise<TestHandler> {
  const folder = await mkdtemp(join(tmpdir(), 'platform-test-'));
  // Sources lie below the checkout's own node_modules where they import packages.
  const sources = await mkdtemp(join(sourceRoot, 'node_modules/.test-'));
  const limits: Limits = { ...defaultLimits, ...overrides };
  const records: RouteRecord[] = [];
  for (const [name, given] of Object.entries(workers)) {
    const source: WorkerSource = typeof given === 'string' ? { files: given } : given;
    const root = source.folder ?? join(sources, name);
    if (source.folder === undefined && source.artifact === undefined) {
      const files = typeof source.files === 'string' ? { 'src/index.ts': source.files } : source.files;
      for (const [path, text] of Object.entries(files)) {
        await mkdir(dirname(join(root, path)), { recursive: true });
        await writeFile(join(root, path), text);
      }
    }
    const artifacts = join(folder, 'artifacts');
    const artifact =
      source.artifact ??
      (await build({
        root,
        config: parseProjectConfig(source.yaml ?? '', { file: 'platform.yaml' }).config as ProjectConfig,
        artifacts,
        durable: false,
      }));
    if (source.artifact !== undefined)
      await cp(source.artifact.folder, join(artifacts, artifact.id), { recursive: true });
    const id = `d${artifact.id.slice(0, 10)}${records.length}`;
    records.push({
      version: 1,
      project: name,
      plan: source.plan ?? 'free',
      ...(source.owner === undefined ? {} : { owner: source.owner }),
      vars: source.vars ?? {},
      domains: [],
      production: id,
      branches: { main: id },
      deployments: { [id]: { id, artifact: artifact.id, branch: 'main', createdAt: '2026-01-01T00:00:00.000Z' } },
    });
  }
  await rm(sources, { recursive: true, force: true });
  const logs: TestHandler['logs'] = [];
  const requests: RequestRecord[] = [];
  const waiting: { project: string; pattern: RegExp; resolve: (line: LogLine) => void }[] = [];
  const engine = await createEngine({
    limits,
    egress: options.egress ?? { loopback: true, private: false },
    ...(options.ai === undefined ? {} : { ai: options.ai }),
    ...(options.sandboxes === undefined ? {} : { sandboxes: options.sandboxes }),
    ...(options.staysInside === true && {
      platformHosts: createPlatformHosts({
        has: ({ hostname, port }) => port === '' && table.find(hostname) !== null,
        serve: (exchange) => handler.onExchange(exchange),
        domains: ['localhost'],
        bodyBytesMax: limits.bodyBytesMax,
      }),
    }),
    cacheFolder: cacheFolder(process.env),
    blanks: 1,
  });
  const note = (project: string, line: LogLine): void => {
    logs.push({ ...line, project });
    for (const waiter of waiting)
      if (waiter.project === project && waiter.pattern.test(line.text)) waiter.resolve(line);
  };
  const stores = options.stores ?? noStores;
  const cache = createMemoryCache({ bytesMax: limits.cacheBytesMax });
  /** In Node: the mock server of each worker. */
  const mockServers: LocalDashboard[] = [];
  const find = <Found>(of: (server: LocalDashboard) => Found | null): Found | null => {
    for (const server of mockServers) {
      const found = of(server);
      if (found !== null) return found;
    }
    return null;
  };
  const table = createRouteTable(['localhost']);
  table.replace(records);
  const handler = createHandler({
    engine,
    limits,
    protocol: 'http',
    publicPort: options.publicPort ?? null,
    trustedProxies: options.trustedProxies ?? [],
    matchRoute: (host) => table.match(host),
    isProduction: (route) => table.isProduction(route),
    openArtifact: (id) => find(({ openArtifact }) => openArtifact(id)) ?? openArtifact(folder, id),
    assets: createAssetServer(),
    stores,
    databases: null,
    authRoutes: options.authRoutes ?? null,
    signedFiles: options.stores?.files
      ? createSignedFiles(options.stores.files, Buffer.alloc(32, 7), limits.bodyBytesMax)
      : null,
    hostOf: (project) => `${project}.localhost`,
    namespaceOf: (project) => project,
    calledRoute: (project, branch) => table.called(project, branch),
    findDeployment: (id) => find(({ findDeployment }) => findDeployment(id)) ?? table.findDeployment(id),
    cache,
    onLog: ({ project }, line) => note(project, line),
    onRequest: (record) => requests.push(record),
  });
  const { open: openListener } = await chooseListener(overUws ? 'uws' : 'node');
  const listener = await openListener({
    port: 0,
    host: '127.0.0.1',
    limits,
    domains: ['localhost'],
    onExchange: handler.onExchange,
  });
  const nodeWorkers = inNode ? await startInNode() : null;

  async function startInNode(): ReturnType<typeof startNodeWorkers> {
    const processOf = await startNodeWorkers(
      records.map(({ project }) => project),
      (project, line) => note(project, { ...line, invocation: null, traceId: null }),
    );
    for (const { project } of records) {
      const route = table.find(`${project}.localhost`)!;
      const artifact = openArtifact(folder, route.artifact);
      const stateFolder = join(folder, 'mock-servers', project);
      await mkdir(stateFolder, { recursive: true });
      const server = await openLocalDashboard({
        project,
        limits,
        activity: createActivity({ recordsMax: 1, textCharsMax: 100 }),
        log: (_level, message) => assert.fail(message),
        resources: {
          databases: null,
          stores,
          objects: handler.objects,
          cron: null,
          cache,
          cacheEntryBytesMax: limits.cacheEntryBytesMax,
          folder: stateFolder,
          copiesMax: 0,
          namespaceOf: (name) => name,
        },
        sandboxes: { request: () => assert.fail('This test has no sandboxes') },
        stateFolder,
        address: { host: '127.0.0.1', port: 0 },
        url: `http://${project}.localhost`,
        ai: null,
        serveHere: (key, exchange) => handler.serveHere(key, exchange),
      });
      mockServers.push(server!);
      const { url, vars } = server!;
      const token = vars['PLATFORM_MOCK_SERVER_TOKEN']!;
      const app = { PLATFORM_APP_URL: `http://127.0.0.1:${processOf.port(project)}`, PLATFORM_APP_TOKEN: token };
      server!.show({ ...route, vars: { ...route.vars, ...app } }, artifact, null);
      const file = join(folder, `${project}.mjs`);
      const { bytes, isWide } = artifact.workerText()!;
      await writeFile(file, Buffer.from(bytes).toString(isWide ? 'utf16le' : 'latin1'));
      await processOf.serve({ project, file, url, token });
    }
    return processOf;
  }

  /** The engine itself answers some paths. */
  const portOf = (project: string, path: string): number =>
    nodeWorkers === null || /^\/(?:auth|_platform)\//.test(path) ? listener.port : nodeWorkers.port(project);

  return {
    port: listener.port,
    engine,
    // Events of an app in Node go to the deployment that passes them on, which its workflows are begun by as well.
    handler: inNode
      ? { ...handler, deliver: (id, ...event) => handler.deliver(id.endsWith('-rpc') ? id : `${id}-rpc`, ...event) }
      : handler,
    logs,
    requests,
    fetch: (project, path = '/', options = {}) => send(portOf(project, path), `${project}.localhost`, path, options),
    deploymentOf: (project) => table.find(`${project}.localhost`)?.deployment ?? 'none',
    artifactFolder: (project) => join(folder, 'artifacts', table.find(`${project}.localhost`)?.artifact ?? 'none'),
    async deliver(project, kind, event) {
      const { outcome, result } = await handler.deliver(
        table.find(`${project}.localhost`)?.deployment ?? 'none',
        kind,
        { head: JSON.stringify(event), bodies: [] },
      );
      return { outcome: outcomeLabel(outcome), result: result === null ? null : (JSON.parse(result) as unknown) };
    },
    async logged(project, pattern) {
      const found = logs.find((line) => line.project === project && pattern.test(line.text));
      return found ?? new Promise((resolve) => waiting.push({ project, pattern, resolve }));
    },
    async close() {
      await nodeWorkers?.close();
      for (const server of mockServers) await server.close();
      await listener.close();
      handler.close();
      await engine.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
