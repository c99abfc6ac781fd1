// Management operations on a deployment's bindings (core/resource-call.ts): called by the API, for the dashboard and
// the CLI, through `POST /_platform/data`, and by the dashboard of `platform dev` in its own process. The operations
// are in the other files of this folder.
import { PlatformError } from '#core/errors.ts';
import type { ResourceKind, ResourceOperation } from '#core/resource-call.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { toRecord } from '../bindings/arguments.ts';
import type { Route } from '../router/project-routes.ts';
import { renamedPlace, type Asked, type Gives, type OperationsOf, type ResourceDeps } from './asked.ts';
import { databaseOperations } from './databases.ts';
import { cacheOperations, fileOperations, stateOperations } from './storage.ts';
import { userOperations } from './users.ts';
import { queueOperations, scheduleOperations, timerOperations, workflowOperations } from './waiting.ts';

const KINDS: readonly ResourceKind[] = ['db', 'state', 'fs', 'queue', 'workflow', 'timer', 'cache', 'sandbox', 'auth'];

/** Lists the bindings. */
const listing: OperationsOf<'resources'> = {
  async 'resources.list'({ artifact }) {
    return {
      resources: KINDS.flatMap((kind) =>
        Object.entries(artifact.manifest.bindings[kind] ?? {}).map(([binding, resource]) => ({
          kind,
          binding,
          resource,
        })),
      ),
    };
  },
};

/** Where the sandbox service keeps them; the service itself reports their content. */
const sandboxOperations: OperationsOf<'sandbox'> = {
  async 'sandbox.place'(asked) {
    const { namespace, resource } = renamedPlace(asked, 'sandbox');
    return { project: namespace, resource };
  },
};

/** Operations by name. */
const operations: { readonly [Name in ResourceOperation]: (asked: Asked) => Promise<Gives<Name>> } = {
  ...listing,
  ...databaseOperations,
  ...stateOperations,
  ...fileOperations,
  ...queueOperations,
  ...workflowOperations,
  ...timerOperations,
  ...scheduleOperations,
  ...userOperations,
  ...cacheOperations,
  ...sandboxOperations,
};

/**
 * Runs an operation on the bindings of a deployment.
 *
 * @throws {PlatformError} `bad_request`, `binding_not_found`, `binding_unavailable`, `invalid_argument`,
 * `dashboard_not_found`, and errors of stores.
 */
export async function askResource(
  deps: ResourceDeps,
  route: Route,
  artifact: OpenArtifact,
  { operation, binding, args = {} }: Readonly<Record<string, unknown>>,
): Promise<{ readonly result: unknown }> {
  if (typeof operation !== 'string' || !Object.hasOwn(operations, operation))
    throw new PlatformError('bad_request', { reason: 'operation is one of core/resource-call.ts' });
  const run = operations[operation as ResourceOperation];
  return { result: await run({ deps, route, artifact, binding, args: toRecord(args) }) };
}
