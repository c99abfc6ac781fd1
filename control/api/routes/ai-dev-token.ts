// Tokens of the AI gateway for `platform dev`: what a developer's machine asks counts for an organization.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { statementsOf } from '#postgres/sql.ts';
import { issueToken } from '../../gateway/accounts/postgres/tokens.ts';
import type { Parts } from '../../parts.ts';
import type { RequestState } from '../app.ts';
import { needs } from '../needs.ts';
import { Timestamp } from '../schemas.ts';

const LIFE_MS = 7 * 86_400_000;
/** Of one account in one organization: the oldest goes for a new one. */
const TOKENS_MAX = 10;

export const aiDevToken = platform<Parts, RequestState>().post(
  '/orgs/:id/ai/dev-token',
  {
    ...needs('deployment:create', 'organization'),
    tags: ['ai'],
    summary: 'Make a token of the AI gateway for platform dev; it lives a week',
    response: { 201: Type.Object({ url: Type.String(), token: Type.String(), expiresAt: Timestamp }) },
  },
  async (ctx) => {
    const { id } = ctx.params;
    const { sql, addresses } = ctx.env;
    const account = ctx.state.access.actor!.accountId;
    const expiresAt = Date.now() + LIFE_MS;
    const of = { organizationId: id, projectId: null, deploymentId: null, branch: null, runId: null } as const;
    const token = await sql.begin(async (tx) => {
      const issued = await issueToken(statementsOf(tx), { ...of, kind: 'dev' }, expiresAt, { createdBy: account });
      await tx`
        DELETE FROM control.ai_token WHERE id IN (
          SELECT id FROM control.ai_token WHERE organization_id = ${id} AND kind = 'dev' AND created_by = ${account}
          ORDER BY created_at DESC, id OFFSET ${TOKENS_MAX})`;
      await ctx.state.audit(tx, {
        organizationId: id,
        action: 'ai.dev_token.create',
        subjectKind: 'ai_key',
        subjectId: issued.id,
      });
      return issued.token;
    });
    return ctx.json({ url: `${addresses.api}/ai`, token, expiresAt: new Date(expiresAt).toISOString() }, 201);
  },
);
