// Asks the engines what a project's bindings hold (core/resource-call.ts), for the routes of databases, state, files
// and queues: finds the deployment that declares the binding, and turns refusals into errors of the API.
import Type from 'typebox';
import type { ResourceAnswer, ResourceCall, ResourceOperations } from '#core/resource-call.ts';
import type { Parts } from '../parts.ts';
import { ApiError } from './errors.ts';

/** Whose resources: production's, or those of a branch's previews. */
export const branchQuery = {
  branch: Type.Optional(
    Type.String({ minLength: 1, maxLength: 255, description: 'Of the previews of a branch; default: production' }),
  ),
};

/** A binding's name in platform.yaml, or that of its resource. */
export const BindingName = Type.String({ maxLength: 64, pattern: '^[A-Za-z][A-Za-z0-9_]*$' });

/** What is asked, beside the operation. */
export interface ResourceQuestion<Operation extends keyof ResourceOperations> {
  readonly projectId: string;
  readonly branch?: string | undefined;
  readonly binding?: string;
  readonly args: ResourceOperations[Operation]['takes'];
  readonly waitMs?: number;
}

/**
 * Asks, and returns what the binding's resource answers.
 *
 * @throws {ApiError} `conflict` where nothing is deployed, `not_found` for an unknown branch, `bad_request` with the
 *   reason for a binding that is not declared and for what the resource refuses, `unavailable` while no engine answers.
 * @example await callResource(ctx.env, 'db.tables', { projectId, binding: 'DB', args: {} })
 */
export async function callResource<Operation extends keyof ResourceOperations>(
  parts: Parts,
  operation: Operation,
  { projectId, branch, binding, args, waitMs }: ResourceQuestion<Operation>,
): Promise<ResourceOperations[Operation]['gives']> {
  const { project, deployment } = await declaring(parts, projectId, branch);
  const call: ResourceCall<Operation> = {
    project,
    deployment,
    operation,
    ...(binding !== undefined && { binding }),
    args,
  };
  const { status, body } = await parts.privatePort
    .ask<ResourceAnswer<Operation> & { error?: unknown; code?: unknown }>('/_platform/data', call, waitMs)
    .catch(() => {
      throw new ApiError('unavailable', { reason: 'The engines do not answer: try again' });
    });
  if (status === 200) return body.result;
  const reason = typeof body.error === 'string' ? body.error : `The engine answered ${status}`;
  if (body.code === 'internal_route_not_found')
    throw new ApiError('not_available', { reason: 'The engines of this platform cannot be asked for that' });
  if (body.code === 'asset_not_found' || status === 404) throw new ApiError('bad_request', { reason });
  throw new ApiError(status < 500 ? 'bad_request' : 'unavailable', { reason });
}

/** The project's name, and the deployment whose bindings are meant. */
async function declaring(
  { sql }: Parts,
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
