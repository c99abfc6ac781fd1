// Management operations on a deployment's bindings (core/resource-call.ts): called by the API, for the dashboard and
// the CLI, through `POST /_platform/data`, and by the dashboard of `platform dev` in its own process. The operations
// are in ../resources/, listed by kind in table.ts.
import { kinds } from '#core/bindings/kinds.ts';
import { ownClasses } from '#core/bindings/object.ts';
import { PlatformError } from '#core/errors.ts';
import type { ResourceKind, ResourceOperation } from '#core/resource-call.ts';
import type { OpenArtifact } from '#artifacts/artifact-source.ts';
import { toRecord } from '../bindings/arguments.ts';
import { createBindingCalls } from './calls.ts';
import { engineKinds } from './table.ts';
import type { Route } from '../router/project-routes.ts';
import {
  namespaceOf,
  type RequestScope,
  type Gives,
  type OperationsOf,
  type ResourceDeps,
} from '../resources/request-scope.ts';
import { objectOperations } from '../resources/objects.ts';
import { scheduleOperations } from '../resources/waiting.ts';

/** Lists the bindings. */
const listing: OperationsOf<'resources'> = {
  async 'resources.list'({ artifact: { manifest } }) {
    const declared = (kind: ResourceKind, bindings: Readonly<Record<string, string>> = {}) =>
      Object.entries(bindings).map(([binding, resource]) => ({ kind, binding, resource }));
    return {
      resources: [
        ...kinds.flatMap((kind) => declared(kind, manifest.bindings[kind])),
        ...declared('object', ownClasses(manifest.objects)),
      ],
    };
  },
};

/** Operations by name. */
const operations = Object.assign(
  { ...listing, ...objectOperations, ...scheduleOperations },
  ...kinds.map((kind) => engineKinds[kind].operations),
) as { readonly [Name in ResourceOperation]: (scope: RequestScope) => Promise<Gives<Name>> };

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
    throw new PlatformError('bad_request', { reason: 'operation must be one of core/resource-call.ts' });
  const run = operations[operation as ResourceOperation];
  const scope: RequestScope = {
    deps,
    route,
    artifact,
    binding,
    args: toRecord(args),
    hostCalls() {
      const { branch, deployment, preview, project } = route;
      const owner = { namespace: namespaceOf(scope), project, branch, deployment, preview };
      const { stores, cache, cacheEntryBytesMax } = deps;
      return createBindingCalls(owner, artifact.manifest, stores, { signUrl: null, cache, cacheEntryBytesMax });
    },
  };
  return { result: await run(scope) };
}
