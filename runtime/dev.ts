// Root used by `platform dev` and the Vite plugin: the same handler as main.ts, with one deployment that answers on every
// host, loopback allowed for `fetch`, and logs and requests handed to the caller.
import { basename, dirname, join } from 'node:path';
import { limitsFrom, type Limits } from '#core/limits.ts';
import { createAuthRoutes } from './auth/routes.ts';
import { createUsers } from './auth/users.ts';
import { createEngine } from './engine.ts';
import { createHandler } from './handler.ts';
import { openLocalDatabases } from './local-databases.ts';
import type { LogLine } from './invocation/log.ts';
import { cacheFolder } from './isolates/snapshot.ts';
import { openArtifact } from './router/artifact-source.ts';
import type { Route } from './router/route-table.ts';
import { createAssetServer } from './server/assets.ts';
import { openNodeListener } from './server/listener-node.ts';
import { createSignedFiles } from './server/signed-files.ts';
import { openLocalEvents } from './local-events.ts';
import { createMemoryCache } from './stores/cache-memory.ts';
import { openLocalStores } from './stores/local-stores.ts';

/** A request that ended. */
export interface DevRequest {
  readonly method: string;
  /** Path and query. */ readonly path: string;
  readonly status: number;
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** What to serve from now on. */
export interface DevDeployment {
  /** An artifact as the builder writes it: `<folder>/artifacts/<id>`. */ readonly artifactFolder: string;
  /** Applied before it is served: of each database, names and SQL. */
  readonly migrations: readonly { readonly resource: string; readonly files: readonly (readonly [name: string, sql: string])[] }[];
  readonly vars: Readonly<Record<string, string>>;
}

/** Options of {@link startDev}. */
export interface DevOptions {
  readonly host: string;
  /** 0 = a free one. */ readonly port: number;
  /** Where state, files and the like are kept: `.platform` of the project or its workspace. */ readonly stateFolder: string;
  /** Bounds; default those of the environment, as in production. */ readonly limits?: Limits;
  readonly log: (record: { level: LogLine['level']; message: string }) => void;
  readonly onRequest: (request: DevRequest) => void;
  /** Name of the project, which tells its timers and schedules from those of others in its workspace; default `dev`. */
  readonly project?: string;
}

/** A running engine with one deployment. */
export interface DevEngine {
  readonly port: number;
  /** Requests that run finish on the code they began with; the next one sees the new code. */
  deploy(deployment: DevDeployment): Promise<void>;
  close(): Promise<void>;
}

/** Projects of a workspace share what they declare. */
const namespace = 'local';

/** Opens the port; rejects with the system's error (`EADDRINUSE`) when it cannot be had. */
export async function startDev(options: DevOptions): Promise<DevEngine> {
  const limits = options.limits ?? limitsFrom(process.env);
  const local = openLocalStores(options.stateFolder);
  const databases = openLocalDatabases(join(options.stateFolder, 'databases'), (message) => options.log({ level: 'warn', message }));
  const users = createUsers({
    databases: databases.store,
    secret: local.signingKey,
    // Nobody gets letters of a program in the making: they are for its author to read.
    sendMail: async ({ to, subject, text }) => options.log({ level: 'info', message: `Mail to ${to}: ${subject}\n${text}` }),
    log: (level, message) => options.log({ level, message }),
  });
  let route: Route | null = null;
  let folder = '';
  let open: (() => void) | null = null;
  // Requests that come before the first deployment wait for it.
  let deployed: Promise<void> | null = new Promise((resolve) => (open = resolve));
  const engine = await createEngine({
    limits,
    egress: { loopback: true, private: false },
    cacheFolder: cacheFolder(process.env),
    blanks: 2,
  });
  const project = options.project ?? 'dev';
  const events = openLocalEvents({
    folder: options.stateFolder,
    namespace,
    project,
    branch: 'dev',
    environment: process.env,
    deliver: (deployment, kind, event) => handler.deliver(deployment, kind, event),
    log: (level, message) => options.log({ level, message }),
  });
  const handler = createHandler({
    engine,
    limits,
    protocol: 'http',
    trustedProxies: [],
    findRoute: () => route,
    openArtifact: (id) => openArtifact(folder, id),
    assets: createAssetServer(),
    stores: { ...local.stores, db: databases.store, auth: users, events: events.bindings },
    migrate: null,
    authRoutes: createAuthRoutes(users),
    signedFiles: local.stores.fs && createSignedFiles(local.stores.fs, local.signingKey, limits.bodyBytesMax),
    hostOf: () => `${options.host}:${listener.port}`,
    namespaceOf: () => namespace,
    findDeployment: (id) => (route?.deployment === id ? route : null),
    cache: createMemoryCache({ bytesMax: limits.cacheBytesMax }),
    onLog: (_deployment, { level, text }) => options.log({ level, message: text }),
    onRequest: ({ method, target, status, cpuMs, wallMs }) => options.onRequest({ method, path: target, status, cpuMs, wallMs }),
  });
  const listener = await openNodeListener({
    host: options.host,
    port: options.port,
    limits,
    onExchange: (exchange) => {
      if (deployed === null) handler.onExchange(exchange);
      else void deployed.then(() => handler.onExchange(exchange));
    },
  });
  return {
    port: listener.port,
    async deploy({ artifactFolder, vars, migrations }) {
      for (const { resource, files } of migrations) await databases.migrate({ namespace, resource }, files);
      const artifact = basename(artifactFolder);
      folder = dirname(dirname(artifactFolder));
      route = { project, deployment: `d${artifact.slice(0, 12)}`, artifact, plan: 'free', vars, branch: 'dev', isProduction: false };
      handler.retain([route]);
      handler.warm(route);
      await events.deploy(route.deployment, openArtifact(folder, artifact).manifest);
      deployed = null;
      open?.();
    },
    async close() {
      await listener.close();
      await events.stop();
      handler.close();
      await engine.close();
      await events.close();
      await databases.close();
      local.close();
    },
  };
}
