// All processes of this supervisor besides engines, in the groups in which they start and stop. Created by main.ts,
// which decides the order. Each process has a file that defines how it is started.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { migrationsExecutorFrom } from '#core/migrations-executor.ts';
import { engineUrlOf } from '#postgres/engine-role.ts';
import type { SupervisorConfig } from '../engines/configuration.ts';
import type { Handlers } from '../machine/handlers.ts';
import type { ServiceState } from '../engines/state.ts';
import { builderService } from './builder-service.ts';
import { controlService, hasControl, type ControlState } from './control-service.ts';
import { databaseService, databaseSockets } from './database-service.ts';
import { edgeService, type EdgeService } from './edge-service.ts';
import { eventServices } from './event-services.ts';
import { engineAi, gatewayService, gatewaySockets, hasGateway, operatorAiOf } from './gateway-service.ts';
import { migratorService } from './migrator-service.ts';
import { mirrorService } from './mirror-service.ts';
import { engineSandboxes } from './sandbox-access.ts';
import { apiAiUrl, runsSandboxes, sandboxService } from './sandbox-service.ts';
import { Services, type ServiceHooks, type ServiceSpec } from './services.ts';
import { serverParts } from './ssr-service.ts';
import { webService, type WebProxy, type WebState } from './web-service.ts';

/** Dependencies and callbacks of the processes. */
interface ServiceGroupDeps {
  readonly environment: NodeJS.ProcessEnv;
  readonly config: SupervisorConfig;
  /** Private folder of sockets. */
  readonly sockets: string;
  /** The public port. */
  readonly port: number;
  /** Identifies requests from the edge; '' if there is no edge. */
  readonly edgeSecret: string;
  /** Variables of engines, to which the addresses of these processes are added. */
  readonly engineVariables: Record<string, string>;
  readonly hasPrivatePort: boolean;
  /** Addresses of handlers for the API and the broker, on this machine or elsewhere. */
  readonly handlers: () => Handlers;
  readonly log: Logger;
  /** Called when the API is ready. */
  readonly onControl: (state: ControlState) => void;
  /** Called when the API is ready, and the sites, if they are served here. */
  readonly onSites: (state: ControlState | null, web: WebState) => void;
}

/** The processes. */
export interface ServiceGroups {
  /** Databases, broker and gateway, which engines need. */
  readonly base: Services;
  /**
   * Copies routes to this machine if it shares no folder with others. Started before engines, which can also serve
   * without it.
   */
  readonly mirror: Services;
  /** Started before engines, whose requests wait for it. The edge also serves while the database is unavailable. */
  readonly edge: Services;
  /** API, migrator, builder and sites. Started last and stopped first, because requests are served without them. */
  readonly control: Services;
  /** A group of its own, because everything else is served even if the container engine is missing. */
  readonly sandboxes: Services;
  /** Unix socket of Caddy's metrics; null while there is none. */
  edgeMetricsSocket(): string | null;
  /** The edge of this machine, or null. */
  readonly caddy: EdgeService | null;
  /** URL of the database's owner; '' while it is not known, or if this machine does not have it. */
  ownerUrl(): string;
  states(): ServiceState[];
}

/** The processes that run here, and their shared dependencies. */
interface Plan extends ServiceGroupDeps {
  /** Database URLs, when they are known. */
  readonly urls: { owner: string; sandbox: string };
  readonly aiSockets: ReturnType<typeof gatewaySockets>;
  readonly databases: ServiceSpec | null;
  readonly ofDatabase: readonly ServiceSpec[];
  readonly servers: ReturnType<typeof serverParts>;
  readonly runsGateway: boolean;
  readonly runsControl: boolean;
}

/** @throws {Error} when a variable of a process is invalid. */
export function createServiceGroups(deps: ServiceGroupDeps): ServiceGroups {
  const { environment, config, log } = deps;
  const { parts, folder } = config;
  const plan = planOf(deps);
  const hooks: ServiceHooks = {
    onDeath: (service, code, signal, delayMs) =>
      log.error({ service, code, signal, delayMs }, 'Service exited: restarting'),
    onReady: (service) => log.info({ service }, 'Service ready'),
    onFailure: (service, { message }) => log.error({ service, error: message }, 'Service does not start'),
  };
  const base = new Services(baseSpecs(plan), hooks);
  const mirror = new Services(mirrorSpecs(plan), hooks);
  let metricsSocket: string | null = null;
  const caddy = parts.has('edge')
    ? edgeService({
        environment,
        folder,
        port: deps.port,
        token: deps.edgeSecret,
        hasMachines: plan.ofDatabase.length > 0 || ownerUrlIn(environment) !== '',
        onMetricsSocket: (path) => (metricsSocket = path),
      })
    : null;
  const edge = new Services(caddy === null ? [] : [caddy.spec], hooks);
  const control: Services = new Services(
    controlSpecs(plan, (service) => control.want(service)),
    hooks,
  );
  const sandboxes = new Services(sandboxSpecs(plan), hooks);
  return {
    base,
    mirror,
    edge,
    control,
    sandboxes,
    edgeMetricsSocket: () => metricsSocket,
    caddy,
    ownerUrl: () => plan.urls.owner || ownerUrlIn(environment),
    states: () => [...base.states(), ...mirror.states(), ...control.states(), ...sandboxes.states(), ...edge.states()],
  };
}

function ownerUrlIn(environment: NodeJS.ProcessEnv): string {
  const url = environment['DATABASE_URL']?.trim() ?? '';
  return url.toLowerCase() === 'none' ? '' : url;
}

function planOf(deps: ServiceGroupDeps): Plan {
  const { environment, config, sockets, engineVariables, hasPrivatePort, handlers } = deps;
  const { parts, folder, limits } = config;
  const urls = { owner: '', sandbox: environment['SANDBOX_DATABASE_URL']?.trim() ?? '' };
  const serves = parts.has('handler');
  const hasDatabase = parts.has('broker') || parts.has('api');
  const databases = parts.has('databases') ? databaseService(environment, folder, sockets) : null;
  const ofDatabase =
    hasDatabase || (serves && environment['DATABASE_URL'])
      ? eventServices({
          environment,
          folder,
          onEngineUrl(url) {
            engineVariables['ENGINE_DATABASE_URL'] = url;
            databases?.usePostgres(url);
          },
          onOwnerUrl: (url) => (urls.owner = url),
          onSandboxUrl: (url) => (urls.sandbox = url),
          delivers: hasPrivatePort && parts.has('broker'),
          handlers,
        })
      : [];
  // Postgres runs on another machine or in another container.
  if (ofDatabase.length === 0) {
    const owner = environment['DATABASE_URL']?.trim() ?? '';
    const engine =
      environment['ENGINE_DATABASE_URL']?.trim() || (owner.startsWith('postgres') ? engineUrlOf(owner) : '');
    if (engine !== '') databases?.usePostgres(engine);
  }
  const aiSockets = gatewaySockets(sockets);
  const runsGateway = ofDatabase.length > 0 && (serves || parts.has('api')) && hasGateway(environment);
  Object.assign(engineVariables, engineAi(environment, runsGateway ? aiSockets : null), engineSandboxes(environment));
  const servers = serverParts(environment, { parts, folder, sockets, limits });
  Object.assign(engineVariables, servers.engineEnvironment);
  const runsControl = hasPrivatePort && parts.has('api') && (parts.isChosen || hasControl(environment, folder));
  // Engines hand emails to the API process, which sends them.
  if (runsControl) delete engineVariables['AUTH_MAIL_URL'];
  return { ...deps, urls, aiSockets, databases, ofDatabase, servers, runsGateway, runsControl };
}

function baseSpecs({ environment, config, urls, databases, ...plan }: Plan): ServiceSpec[] {
  const { folder, limits } = config;
  const gateway = plan.runsGateway
    ? gatewayService({
        environment,
        folder,
        sockets: plan.aiSockets,
        databaseUrl: () => urls.owner,
        drainMs: limits.gateway.drainMs,
      })
    : null;
  return [databases, ...plan.ofDatabase, gateway, ...plan.servers.specs].filter((spec) => spec !== null);
}

function mirrorSpecs({ environment, config, engineVariables, hasPrivatePort, handlers }: Plan): ServiceSpec[] {
  const { parts, folder } = config;
  const ownerUrl = environment['DATABASE_URL']?.trim() ?? '';
  if (!parts.has('mirror') || ownerUrl.toLowerCase() === 'none') return [];
  const spec = mirrorService({
    environment,
    folder,
    databaseUrl: () => engineVariables['ENGINE_DATABASE_URL'] || (ownerUrl === '' ? '' : engineUrlOf(ownerUrl)),
    token: () => (hasPrivatePort ? handlers().token : ''),
  });
  return spec === null ? [] : [spec];
}

/** @param want requests one of these processes; false if it does not run here. */
function controlSpecs(plan: Plan, want: (service: string) => boolean): ServiceSpec[] {
  const { environment, config, sockets, urls, runsControl } = plan;
  const { parts, folder } = config;
  // Releases wait for the migrator.
  const runsMigrator =
    migrationsExecutorFrom(environment) === 'migrator' && parts.has('migrator') && (parts.isChosen || runsControl);
  const runsBuilder = parts.has('builder') && (parts.isChosen || runsControl);
  const databaseUrl = (): string => urls.owner || (environment['DATABASE_URL'] ?? '');
  const proxy = { socket: join(sockets, 'api'), token: randomBytes(32).toString('hex') };
  let state: ControlState | null = null;
  // The web process runs with an API of this supervisor, or of another supervisor.
  const web =
    parts.has('web') && (runsControl || parts.isChosen)
      ? webService({ environment, proxy: runsControl ? proxy : null, onReady: (sites) => plan.onSites(state, sites) })
      : null;
  const api = runsControl
    ? apiSpec(plan, web === null ? null : proxy, {
        onReady(ready) {
          state = ready;
          plan.onControl(ready);
          if (web === null) plan.onSites(ready, { uiPort: null, docsPort: null });
        },
        onWant(service) {
          // A builder elsewhere detects builds by itself.
          if (runsBuilder && !want(service)) plan.log.warn({ service }, 'Service unknown');
        },
      })
    : null;
  const migrator = runsMigrator
    ? migratorService({
        environment,
        folder,
        sockets: parts.has('databases') ? databaseSockets(environment, sockets) : {},
        databaseUrl,
      })
    : null;
  const builder = runsBuilder
    ? builderService({
        environment,
        folder,
        port: plan.port,
        databaseUrl,
        stays: !runsControl,
        runsServers: plan.servers.specs.length > 0,
      })
    : null;
  return [api, migrator, builder, web].filter((spec) => spec !== null);
}

function apiSpec(
  { environment, config, edgeSecret, handlers, urls, aiSockets, runsGateway }: Plan,
  webProxy: WebProxy | null,
  callbacks: { readonly onReady: (state: ControlState) => void; readonly onWant: (service: string) => void },
): ServiceSpec {
  return controlService({
    webProxy,
    aiSocket: runsGateway ? aiSockets.tokens : null,
    operatorAi: runsGateway ? operatorAiOf(environment) : null,
    edgeToken: edgeSecret,
    environment,
    folder: config.folder,
    databaseUrl: () => urls.owner,
    handlers,
    ...callbacks,
  });
}

function sandboxSpecs({ environment, config, urls, runsControl, runsGateway }: Plan): ServiceSpec[] {
  const { parts, folder } = config;
  if (!runsSandboxes(environment, parts.has('sandbox'), parts.isChosen)) return [];
  const aiUrl = runsControl && runsGateway ? apiAiUrl(environment) : null;
  return [sandboxService({ environment, folder, databaseUrl: () => urls.sandbox, aiUrl })];
}
