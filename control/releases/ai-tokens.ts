// AI gateway tokens of deployments: created when a deployment with `ai: true` is released, stored as a hash for the
// gateway, and encrypted with its variables for its route record. A trigger deletes the tokens with the deployment.
import { statementsOf, type Transaction } from '#postgres/sql.ts';
import { issueToken, revokeDeploymentTokens } from '#gateway/accounts/postgres/tokens.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { sealFrozen, unsealFrozen } from './frozen-variables.ts';
import type { Audit } from './audit-entries.ts';
import { touchRoute, untilRouted, writeRoute } from './project-routes.ts';

interface Owned {
  readonly id: string;
  readonly project_id: string;
  readonly organization_id: string;
  readonly branch: string;
}

/** How long the old token stays valid, for workers of engines that do not have the new token yet. */
const OVERLAP_SECONDS = 60;

/** @returns the token, to be encrypted with the deployment's variables. */
export async function issueAiToken(
  tx: Transaction,
  { id, project_id, organization_id, branch }: Owned,
): Promise<string> {
  const caller = {
    kind: 'worker',
    organizationId: organization_id,
    projectId: project_id,
    deploymentId: id,
    branch,
    runId: null,
  } as const;
  return (await issueToken(statementsOf(tx), caller, null)).token;
}

/** Revokes the tokens of a deployment that will not be served. */
export async function revokeAiTokens(tx: Transaction, deploymentId: string): Promise<void> {
  await revokeDeploymentTokens(statementsOf(tx), deploymentId, null);
}

/**
 * Replaces the token of a deployment.
 *
 * @returns whether all engines have the new token; otherwise the old token expires after a minute.
 * @throws {ApiError} `not_found`; `conflict` if the deployment has no token.
 */
export async function rotateAiToken(
  deps: Dependencies,
  { organizationId, projectId, deploymentId }: { organizationId: string; projectId: string; deploymentId: string },
  audit: Audit,
): Promise<{ routed: boolean }> {
  const { sql, keys } = deps;
  const token = await sql.begin(async (tx) => {
    const [row] = await tx<(Owned & { variables: Uint8Array | null })[]>`
      SELECT id, project_id, organization_id, branch, variables FROM control.deployment
      WHERE id = ${deploymentId} AND removed_at IS NULL FOR UPDATE`;
    if (row === undefined) throw new ApiError('not_found');
    const frozen = unsealFrozen(keys, deploymentId, row.variables);
    if (frozen.aiToken === undefined)
      throw new ApiError('conflict', {
        reason: `${deploymentId} has no token for the AI gateway: set ai: true in platform.yaml, and deploy again`,
      });
    await tx`
      UPDATE control.ai_token SET expires_at = now() + ${OVERLAP_SECONDS} * interval '1 s'
      WHERE deployment_id = ${deploymentId}`;
    const aiToken = await issueAiToken(tx, row);
    await tx`
      UPDATE control.deployment SET variables = ${sealFrozen(keys, deploymentId, { ...frozen, aiToken })}
      WHERE id = ${deploymentId}`;
    await touchRoute(tx, projectId);
    await audit(tx, {
      organizationId,
      projectId,
      action: 'deployment.rotate_ai_token',
      subjectKind: 'deployment',
      subjectId: deploymentId,
      details: {},
    });
    return aiToken;
  });
  await writeRoute(deps, projectId);
  const routed = await untilRouted(deps, projectId);
  if (routed) await sql.begin((tx) => revokeDeploymentTokens(statementsOf(tx), deploymentId, token));
  return { routed };
}
