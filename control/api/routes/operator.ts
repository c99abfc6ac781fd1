// Operations for the operator of the installation.
import Type from '#core/typebox/typebox.mjs';
import { backupPlan, backupRuns, requestBackup } from '#core/process/backup-runs.ts';
import { platform } from '#packages/worker/index.ts';
import { checkHealth } from '../../operator/health.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { resealAll } from '../../operator/reseal.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';

const Finding = Type.Object({
  name: Type.String(),
  status: Type.Enum(['ok', 'warn', 'fail']),
  message: Type.String(),
  // Null if there is nothing to do.
  advice: Type.Union([Type.String(), Type.Null()]),
});

const Moment = Type.String({ format: 'date-time' });
const Run = Type.Object({
  startedAt: Moment,
  endedAt: Type.Union([Moment, Type.Null()], { description: 'Null while it is running' }),
  location: Type.Union([Type.String(), Type.Null()]),
  bytes: Type.Integer({ description: 'Size of the backup' }),
  writtenBytes: Type.Integer({ description: 'Bytes written' }),
  error: Type.Union([Type.String(), Type.Null()]),
  isRemoved: Type.Boolean({ description: 'Superseded by a newer deployment' }),
});
const Backups = Type.Object({
  runs: Type.Array(Run, { description: 'Newest first' }),
  plan: Type.Union([
    Type.Null(),
    Type.Object({
      cron: Type.Union([Type.String(), Type.Null()]),
      target: Type.String(),
      nextAt: Type.Union([Moment, Type.Null()]),
    }),
  ]),
});

export const operator = platform<Dependencies, RequestState>()
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
  .get(
    '/operator/backups',
    {
      ...needs('operator'),
      tags: ['operator'],
      summary: 'Read the results of the last backups and the time of the next',
      response: Backups,
    },
    (ctx) => {
      ctx.state.access.operator();
      const { folder } = ctx.env;
      return { runs: [...backupRuns(folder)], plan: backupPlan(folder) };
    },
  )
  .post(
    '/operator/backups',
    {
      ...needs('operator'),
      tags: ['operator'],
      summary: 'Request a backup',
      description: 'The backup starts within seconds; `GET /operator/backups` shows it.',
      response: Type.Object({ isRequested: Type.Literal(true) }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { folder, sql } = ctx.env;
      const plan = backupPlan(folder);
      if (plan === null)
        throw new ApiError('conflict', {
          reason: 'This platform does not schedule backups: run `platform backup` on the machine',
        });
      if (backupRuns(folder)[0]?.endedAt === null)
        throw new ApiError('conflict', { reason: 'A backup is already running' });
      await ctx.state.audit(sql, {
        organizationId: null,
        action: 'operator.backup',
        subjectKind: 'installation',
        subjectId: null,
        details: { target: plan.target },
      });
      requestBackup(folder);
      return { isRequested: true as const };
    },
  )
  .post(
    '/operator/reseal',
    {
      ...needs('operator'),
      tags: ['operator'],
      summary: 'Re-encrypt stored secrets with the first key of ENCRYPTION_KEY',
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
