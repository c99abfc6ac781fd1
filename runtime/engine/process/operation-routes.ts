// Routes of an engine's Unix socket for releases: start a deployment before its first request, migrate and copy
// databases, and remove a branch or a project. docs/operating.md describes requests and responses. The supervisor's
// private port (private-port/operations.ts) runs only one operation at a time per project.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorMessage, errorTable, PlatformError } from '#core/errors.ts';
import type { Manifest } from '#core/manifest.ts';
import { copiesDatabases } from '#core/preview-settings.ts';
import type { KeptBytes } from '#core/storage-left.ts';
import { branchSlug, isArtifactId, isDeploymentId, isProjectName, isResourceName } from '#core/names.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import type { BranchStores } from '../bindings/bindings.ts';
import { removeBranch } from '../kinds/branch-removal.ts';
import { removeProject, type ProjectStores } from '../kinds/project-removal.ts';
import type { Handler } from '../handler.ts';
import { outcomeLabel } from '../invocation/outcome.ts';
import type { Route } from '../router/project-routes.ts';
import type { DatabaseClient } from '../../stores/database-service.ts';
import { askResource } from '../kinds/operations.ts';
import type { ResourceDeps } from '../resources/request-scope.ts';
import { dropSnapshot, isSnapshotName, listSnapshots, makeSnapshot, restoreSnapshot } from '../resources/snapshots.ts';
import { answerJson, type InternalRoutes } from './internal-server.ts';
import { readBytes } from './request-bytes.ts';
import { migrateArtifact } from './migrations.ts';

/** Dependencies of the routes. */
export interface OperationDeps {
  readonly handler: Pick<Handler, 'start'>;
  readonly openArtifact: (id: string) => OpenArtifact;
  /** Null without a database service. */
  readonly databases: DatabaseClient | null;
  readonly stores: Omit<BranchStores & ProjectStores, 'databases'>;
  readonly resources: ResourceDeps;
  /** Maximum size of a request about bindings, which may contain a file. */
  readonly dataBytesMax: number;
  /** Waits briefly until the routes match a condition; null if they do not. */
  readonly waitFor: <Found>(find: () => Found | null) => Promise<Found | null>;
  readonly findDeployment: (id: string) => Route | null;
  readonly routesOf: (project: string) => readonly Route[];
  readonly isProduction: (route: Route) => boolean;
  readonly snapshotsMax: number;
  /** The stored bytes of files and databases. */
  readonly kept: () => Promise<KeptBytes>;
}

type Given = Readonly<Record<string, unknown>>;

/** Maximum length of a manifest's lists of bindings, and of lists in them. */
const BODY_BYTES_MAX = 1024 * 1024;
const BRANCH_CHARS_MAX = 255;

/** The routes of an engine that operations of a release use. */
export function operationRoutes(deps: OperationDeps): InternalRoutes {
  const routes: Record<string, (given: Given) => Promise<object>> = {
    async warm({ project, deployment }) {
      const route = await deps.waitFor(() => deps.findDeployment(deploymentOf(deployment)));
      if (route === null || route.project !== projectOf(project))
        throw new PlatformError('deployment_not_found', { deployment: String(deployment) });
      const { outcome, lines } = await deps.handler.start(route);
      const error = outcome.kind === 'ok' ? null : errorMessage(outcome.code, outcome.details);
      return {
        warmed: outcome.kind === 'ok',
        outcome: outcomeLabel(outcome),
        error,
        lines: lines.map(({ level, text }) => ({ level, text })),
      };
    },
    async migrate({ project, artifact, branch = null, dryRun = false }) {
      const namespace = projectOf(project);
      const opened = open(deps.openArtifact, artifact);
      const preview = branch === null ? null : branchSlug(branchOf(branch), namespace);
      const hasDatabases = Object.keys(opened.manifest.bindings['db'] ?? {}).length > 0;
      const list =
        !hasDatabases && opened.manifest.migrations === undefined
          ? []
          : await migrateArtifact(
              databasesOf(deps),
              {
                namespace,
                preview,
                copies: branch !== null && copiesDatabases(opened.manifest, branchOf(branch)),
                dryRun: dryRun === true,
              },
              opened,
            );
      const failed = list.find(({ error }) => error !== null);
      return { outcome: failed?.error?.code ?? 'ok', databases: list };
    },
    async 'remove-branch'({ project, branch, bindings }) {
      const own = projectOf(project);
      const name = branchOf(branch);
      const production = deps.routesOf(own).find((route) => deps.isProduction(route));
      if (production !== undefined && branchSlug(production.branch, own) === branchSlug(name, own))
        throw new PlatformError('branch_in_use', { project: own, branch: name, reason: 'it is the production branch' });
      // If the route is being removed at this moment, the engine may not have read the record yet.
      const inUse = (): Route | undefined => deps.routesOf(own).find((route) => route.branch === name);
      const isGone = await deps.waitFor(() => (inUse() === undefined ? true : null));
      if (isGone === null) {
        const reason = `its deployment ${inUse()?.deployment ?? ''} is in the route record`;
        throw new PlatformError('branch_in_use', { project: own, branch: name, reason });
      }
      const removed = await removeBranch(
        { ...deps.stores, databases: deps.databases },
        { project: own, branch: name, bindings: bindingsOf(bindings) },
      );
      return { removed };
    },
    async 'remove-project'({ project, branches, databases }) {
      const own = projectOf(project);
      const isGone = await deps.waitFor(() => (deps.routesOf(own).length === 0 ? true : null));
      if (isGone === null) throw new PlatformError('project_in_use', { project: own });
      const removed = await removeProject(
        { ...deps.stores, databases: deps.databases },
        { project: own, branches: listOf(branches, branchOf), databases: listOf(databases, resourceOf) },
      );
      return { removed };
    },
    async snapshot({ project, name, resource = null, resources }) {
      const namespace = projectOf(project);
      const wanted = resource === null ? resourcesOf(resources, productionOf(namespace)) : [resourceOf(resource)];
      const databases = databasesOf(deps);
      const made = await makeSnapshot(databases, namespace, snapshotOf(name), wanted, deps.snapshotsMax);
      return { name, ...made };
    },
    async snapshots({ project }) {
      return { snapshots: await listSnapshots(databasesOf(deps), projectOf(project)) };
    },
    async restore({ project, name, resource = null }) {
      const namespace = projectOf(project);
      const only = resource === null ? null : resourceOf(resource);
      const restored = await restoreSnapshot(databasesOf(deps), namespace, snapshotOf(name), only);
      if (restored.length === 0)
        throw new PlatformError('snapshot_not_found', { project: namespace, name: String(name) });
      return { name, restored };
    },
    async data({ project, deployment, ...asked }) {
      const route = await deps.waitFor(() => deps.findDeployment(deploymentOf(deployment)));
      if (route === null || route.project !== projectOf(project))
        throw new PlatformError('deployment_not_found', { deployment: String(deployment) });
      return askResource(deps.resources, route, deps.openArtifact(route.artifact), asked);
    },
    async storage() {
      return deps.kept();
    },
    async 'drop-snapshot'({ project, name }) {
      return { dropped: await dropSnapshot(databasesOf(deps), projectOf(project), snapshotOf(name)) };
    },
  };

  /** The databases that production declares. */
  function productionOf(project: string): string[] {
    const production = deps.routesOf(project).find((route) => deps.isProduction(route));
    if (production === undefined) return [];
    return Object.values(deps.openArtifact(production.artifact).manifest.bindings['db'] ?? {});
  }

  return Object.fromEntries(
    Object.entries(routes).map(([name, operation]) => [
      `POST /_platform/${name}`,
      (request: IncomingMessage, response: ServerResponse) =>
        answer(request, response, operation, name === 'data' ? deps.dataBytesMax : BODY_BYTES_MAX),
    ]),
  );
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  operation: (given: Given) => Promise<object>,
  bytesMax: number,
): Promise<void> {
  try {
    const bytes = await readBytes(request, bytesMax);
    if (bytes === null) throw new PlatformError('body_too_large', { limit: bytesMax });
    answerJson(response, 200, await operation(parse(bytes.toString('utf8'))));
  } catch (error) {
    const { code, details, message } = error as PlatformError;
    if (Object.hasOwn(errorTable, code))
      return answerJson(response, errorTable[code].status, { error: errorMessage(code, details), code });
    // Errors of SQLite have their own codes.
    answerJson(response, 503, { error: message, code: 'database_unavailable' });
  }
}

function parse(text: string): Given {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Given;
  } catch {
    // Refused below.
  }
  throw bad('The body must be a JSON object');
}

function bad(reason: string): PlatformError {
  return new PlatformError('bad_request', { reason });
}

function projectOf(value: unknown): string {
  if (typeof value !== 'string' || !isProjectName(value)) throw bad('project must be the name of a project');
  return value;
}

function deploymentOf(value: unknown): string {
  if (typeof value !== 'string' || !isDeploymentId(value)) throw bad('deployment must be the ID of a deployment');
  return value;
}

function branchOf(value: unknown): string {
  if (typeof value !== 'string' || value === '' || value.length > BRANCH_CHARS_MAX)
    throw bad(`branch must be a name of at most ${BRANCH_CHARS_MAX} characters, or null for production`);
  return value;
}

function resourceOf(value: unknown): string {
  if (typeof value !== 'string' || !isResourceName(value)) throw bad('resource must be the name of a database');
  return value;
}

function resourcesOf(value: unknown, otherwise: readonly string[]): string[] {
  if (value === undefined) return [...new Set(otherwise)];
  if (!Array.isArray(value)) throw bad('resources must be a list of database names');
  return [...new Set(value.map(resourceOf))];
}

function snapshotOf(value: unknown): string {
  if (!isSnapshotName(value))
    throw bad('name must be at most 40 lower-case letters, digits and single hyphens, such as a deployment id');
  return value;
}

function bindingsOf(value: unknown): Manifest['bindings'][] {
  const isNames = (names: unknown): boolean =>
    typeof names === 'object' && names !== null && Object.values(names).every((name) => typeof name === 'string');
  const isBindings = (one: unknown): boolean =>
    typeof one === 'object' && one !== null && Object.values(one).every(isNames);
  if (!Array.isArray(value) || !value.every(isBindings))
    throw bad('bindings must be a list of bindings, as in manifests');
  for (const bindings of value as Manifest['bindings'][])
    for (const resources of Object.values(bindings)) Object.values(resources).forEach(resourceOf);
  return value as Manifest['bindings'][];
}

function listOf(value: unknown, itemOf: (item: unknown) => string): string[] {
  if (!Array.isArray(value)) throw bad('branches and databases are lists of names');
  return [...new Set(value.map(itemOf))];
}

function open(openArtifact: OperationDeps['openArtifact'], artifact: unknown): OpenArtifact {
  if (typeof artifact !== 'string' || !isArtifactId(artifact)) throw bad('artifact must be the ID of an artifact');
  try {
    return openArtifact(artifact);
  } catch (error) {
    if ((error as PlatformError).code === 'deployment_unavailable')
      throw new PlatformError('artifact_not_found', { artifact });
    throw error;
  }
}

function databasesOf({ databases }: OperationDeps): DatabaseClient {
  if (databases === null)
    throw new PlatformError('binding_unavailable', { kind: 'db', reason: 'this handler has no database service' });
  return databases;
}
