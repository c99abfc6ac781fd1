// Calls the engines for the contents of a project's bindings (core/resource-call.ts), for the routes of databases,
// state, files and queues: finds the deployment that declares the binding, and maps refusals to API errors.
import type { ResourceAnswer, ResourceCall, ResourceOperation, ResourceOperations } from '#core/resource-call.ts';
import { refusalOf } from '#resources/refusals.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { ApiError } from '../../http/errors.ts';

/** Arguments of a call, in addition to the operation. */
interface ResourceQuestion<Operation extends ResourceOperation> {
  readonly projectId: string;
  readonly branch?: string | undefined;
  readonly binding?: string;
  readonly args: ResourceOperations[Operation]['takes'];
  readonly waitMs?: number;
}

/**
 * Calls the binding's resource and returns its response.
 *
 * @throws {ApiError} `conflict` if nothing is deployed, and for migrations that the migrator applies; `not_found` for
 *   an unknown branch; `bad_request` with the reason for an undeclared binding or a call that the resource refuses;
 *   `unavailable` while no engine responds.
 * @example await callResource(ctx.env, 'db.tables', { projectId, binding: 'DB', args: {} })
 */
export async function callResource<Operation extends ResourceOperation>(
  deps: Dependencies,
  operation: Operation,
  { projectId, branch, binding, args, waitMs }: ResourceQuestion<Operation>,
): Promise<ResourceOperations[Operation]['gives']> {
  if (operation === 'db.migrate' && deps.migrationsExecutor === 'migrator')
    throw new ApiError('conflict', {
      reason: 'On this platform, the migrator applies migrations: redeploy or promote the deployment instead',
    });
  const { project, deployment } = await declaring(deps, projectId, branch);
  const call: ResourceCall<Operation> = {
    project,
    deployment,
    operation,
    ...(binding !== undefined && { binding }),
    args,
  };
  const { status, body } = await deps.privatePort
    .ask<ResourceAnswer<Operation> & { error?: unknown; code?: unknown }>('/_platform/data', call, waitMs)
    .catch((error: Error) => {
      deps.log.warn({ err: error, operation }, 'The engines do not answer');
      throw new ApiError('unavailable', { reason: 'The engines are not responding: try again' });
    });
  if (status === 200) return body.result;
  const reason = typeof body.error === 'string' ? body.error : `The engine answered ${status}`;
  if (body.code === 'internal_route_not_found')
    throw new ApiError('not_available', { reason: 'The engines of this platform do not support this operation' });
  const code = refusalOf(typeof body.code === 'string' ? body.code : '', status);
  throw ApiError.inWords(code, reason);
}

/** The project's name, and the deployment whose bindings are used. */
async function declaring(
  { sql }: Dependencies,
  projectId: string,
  branch: string | undefined,
): Promise<{ project: string; deployment: string }> {
  const [row] = await sql<{ name: string; deployment: string | null; known: boolean }[]>`
    SELECT project.name,
      ${branch === undefined ? sql`project.production_deployment_id` : sql`branch.deployment_id`} AS deployment,
      ${branch === undefined ? sql`true` : sql`branch.name IS NOT NULL AND branch.removed_at IS NULL`} AS known
    FROM control.project LEFT JOIN control.branch ON branch.project_id = project.id AND branch.name = ${branch ?? ''}
    WHERE project.id = ${projectId} AND project.deleted_at IS NULL`;
  if (row === undefined) throw new ApiError('not_found');
  if (!row.known) throw new ApiError('bad_request', { reason: `${row.name} has no branch ${branch}` });
  if (row.deployment === null)
    throw new ApiError('conflict', {
      reason: `${row.name} has no ${branch === undefined ? 'production' : 'preview'} deployment yet`,
    });
  return { project: row.name, deployment: row.deployment };
}
