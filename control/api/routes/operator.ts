// What the operator of the installation asks for by the API.
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import { checkHealth } from '../../operator/health.ts';
import type { Parts } from '../../parts.ts';
import { resealAll } from '../../records/reseal.ts';
import type { RequestState } from '../app.ts';
import { needs } from '../needs.ts';

const Finding = Type.Object({
  name: Type.String(),
  status: Type.Enum(['ok', 'warn', 'fail']),
  message: Type.String(),
  // Null where all is well.
  advice: Type.Union([Type.String(), Type.Null()]),
});

export const operator = platform<Parts, RequestState>()
  .get(
    '/operator/health',
    {
      ...needs('operator'),
      tags: ['operator'],
      summary: 'What the platform finds of its own health',
      response: Type.Object({ findings: Type.Array(Finding) }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      return { findings: await checkHealth(ctx.env) };
    },
  )
  .post(
    '/operator/reseal',
    {
      ...needs('operator'),
      tags: ['operator'],
      summary: 'Seal under the first key of ENCRYPTION_KEY what an earlier one has sealed',
      description:
        'After a new key was put before the earlier one. `unreadable` counts what no listed key opens. When `resealed` is 0 the earlier key may go.',
      response: Type.Object({ resealed: Type.Integer(), unreadable: Type.Integer() }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      const counts = await resealAll(ctx.env.sql, ctx.env.keys);
      await ctx.state.audit(ctx.env.sql, {
        organizationId: null,
        action: 'operator.reseal',
        subjectKind: 'installation',
        subjectId: null,
        details: counts,
      });
      return counts;
    },
  );
