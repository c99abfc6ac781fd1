// Tokens of the AI gateway for `platform dev`: what a developer's machine asks counts for an organization.
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import { hashOf, newToken } from '../../gateway/accounts/token.ts';
import type { Parts } from '../../parts.ts';
import { newId } from '../../records/ids.ts';
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
    const tokenId = newId('aiKey');
    const token = newToken(tokenId.replace('_', ''));
    const expiresAt = new Date(Date.now() + LIFE_MS);
    await sql.begin(async (tx) => {
      await tx`
        INSERT INTO control.ai_token (hash, id, kind, organization_id, created_by, expires_at)
        VALUES (${hashOf(token)}, ${tokenId}, 'dev', ${id}, ${account}, ${expiresAt})`;
      await tx`
        DELETE FROM control.ai_token WHERE id IN (
          SELECT id FROM control.ai_token WHERE organization_id = ${id} AND kind = 'dev' AND created_by = ${account}
          ORDER BY created_at DESC, id OFFSET ${TOKENS_MAX})`;
      await ctx.state.audit(tx, {
        organizationId: id,
        action: 'ai.dev_token.create',
        subjectKind: 'ai_key',
        subjectId: tokenId,
      });
    });
    return ctx.json({ url: `${addresses.api}/ai`, token, expiresAt: expiresAt.toISOString() }, 201);
  },
);
