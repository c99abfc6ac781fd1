// Health of the API and its database, for load balancers and `platform doctor`.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { openToAll } from '../request/needs.ts';

export const health = platform<Dependencies, RequestState>().get(
  '/health',
  { ...openToAll(), summary: 'Whether the API answers', response: Type.Object({ status: Type.Literal('ok') }) },
  async (ctx) => {
    try {
      await ctx.env.sql`SELECT 1`;
    } catch {
      throw new ApiError('unavailable', { reason: 'The database is not responding' });
    }
    return { status: 'ok' } as const;
  },
);
