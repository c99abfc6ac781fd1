// What a deployment's bindings hold, asked from outside (core/resource-call.ts): by the API, for the dashboard and the
// command line, through `POST /_platform/data`, and by the dashboard of `platform dev` in its own process. The other
// files of this folder have the operations.
import { PlatformError } from '#core/errors.ts';
import type { ResourceKind, ResourceOperation } from '#core/resource-call.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { toRecord } from '../bindings/arguments.ts';
import type { Route } from '../router/project-routes.ts';
import { renamedPlace, type Asked, type Gives, type OperationsOf, type ResourceParts } from './asked.ts';
import { databaseOperations } from './databases.ts';
import { cacheOperations, fileOperations, stateOperations } from './storage.ts';
import { userOperations } from './users.ts';
import { queueOperations, scheduleOperations, timerOperations, workflowOperations } from './waiting.ts';

const KINDS: readonly ResourceKind[] = ['db', 'state', 'fs', 'queue', 'workflow', 'timer', 'cache', 'sandbox', 'auth'];

/** Which there are. */
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

/** Where the sandbox service has them; what is in them it says itself. */
const sandboxOperations: OperationsOf<'sandbox'> = {
  async 'sandbox.place'(asked) {
    const { namespace, resource } = renamedPlace(asked, 'sandbox');
    return { project: namespace, resource };
  },
};

/** By their names. */
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
 * Answers a question about the bindings of a deployment.
 *
 * @throws {PlatformError} `bad_request`, `binding_not_found`, `binding_unavailable`, `invalid_argument`,
 *   `dashboard_not_found`, and what stores throw.
 */
export async function askResource(
  parts: ResourceParts,
  route: Route,
  artifact: OpenArtifact,
  { operation, binding, args = {} }: Readonly<Record<string, unknown>>,
): Promise<{ readonly result: unknown }> {
  if (typeof operation !== 'string' || !Object.hasOwn(operations, operation))
    throw new PlatformError('bad_request', { reason: 'operation is one of core/resource-call.ts' });
  const run = operations[operation as ResourceOperation];
  return { result: await run({ parts, route, artifact, binding, args: toRecord(args) }) };
}
