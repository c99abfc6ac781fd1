// All routes of an engine's Unix socket: health, requests of the supervisor, and operations of releases. Made by
// main.ts.
import { createSandboxRemoval } from '../bindings/sandbox-removal.ts';
import type { SandboxTransport } from '../bindings/sandbox-transport.ts';
import type { Handler } from '../handler.ts';
import type { RouteTable } from '../router/route-table.ts';
import type { EngineConfig } from './configuration.ts';
import { internalRoutes } from './internal-routes.ts';
import { answerJson, type InternalRoutes } from './internal-server.ts';
import { operationRoutes, type OperationDeps } from './operation-routes.ts';
import type { RecentLog } from './recent-log.ts';
import type { createEngineReports } from './reports.ts';
import type { RouteWaits } from './route-waits.ts';
import type { EngineStores } from './stores.ts';

/** Size of a request about bindings in addition to the file in it. */
const DATA_HEAD_BYTES = 64 * 1024;

/** Dependencies. */
interface EngineRouteDeps {
  readonly config: EngineConfig;
  readonly handler: Handler;
  readonly stores: EngineStores;
  readonly sandboxes: SandboxTransport | null;
  readonly openArtifact: OperationDeps['openArtifact'];
  readonly table: RouteTable;
  readonly waits: RouteWaits;
  readonly recent: RecentLog;
  readonly reports: ReturnType<typeof createEngineReports>;
  /** Whether a project is served according to the record with this hash; '' asks whether the project is not served. */
  readonly isRouted: (project: string, hash: string) => boolean;
}

export function engineRoutes(deps: EngineRouteDeps): InternalRoutes {
  const { config, handler, stores: opened, sandboxes, table } = deps;
  const { limits } = config;
  const { databases, stores, cron, cache, branchStores, kept } = opened;
  return {
    ...internalRoutes({
      handler,
      reports: deps.reports,
      recent: deps.recent,
      isRouted: deps.isRouted,
      bodyBytesMax: limits.deliveryBytesMax,
    }),
    ...operationRoutes({
      handler,
      openArtifact: deps.openArtifact,
      databases,
      stores: { ...branchStores, sandboxes: sandboxes === null ? null : createSandboxRemoval(sandboxes) },
      resources: {
        databases,
        stores,
        objects: handler.objects,
        cron,
        cache,
        cacheEntryBytesMax: limits.cacheEntryBytesMax,
        folder: config.folder,
        copiesMax: limits.database.snapshotsMax,
        namespaceOf: (project) => project,
      },
      dataBytesMax: limits.deliveryBytesMax + DATA_HEAD_BYTES,
      waitFor: (find) => deps.waits.waitFor(find),
      findDeployment: (id) => table.findDeployment(id),
      routesOf: (project) => table.routesOf(project),
      isProduction: (route) => table.isProduction(route),
      snapshotsMax: limits.database.snapshotsMax,
      kept,
    }),
    'GET /_platform/health': (_request, response) => answerJson(response, 200, { live: true }),
  };
}
