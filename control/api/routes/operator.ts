// Operations for the operator of the installation.
import Type from '#core/typebox/typebox.mjs';
import { backupPlan, backupRuns, requestBackup } from '#core/process/backup-runs.ts';
import { platform } from '#packages/worker/index.ts';
import { checkHealth } from '../../operator/health.ts';
import { readBusiest, readEngines, readMachine } from '../../operator/overview.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { resealAll } from '../../operator/reseal.ts';
import { checkOffered } from '../../sign-in/new-password.ts';
import { makeRecoveryUrl } from '../../sign-in/recovery.ts';
import { readWithin } from '../../telemetry/filter.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';

const RECOVERY_SECONDS = 24 * 3600;

const Finding = Type.Object({
  name: Type.String(),
  status: Type.Enum(['ok', 'warn', 'fail']),
  message: Type.String(),
  // Null if there is nothing to do.
  advice: Type.Union([Type.String(), Type.Null()]),
});

const Overview = Type.Object({
  // The machine of the API process.
  machine: Type.Object({
    cores: Type.Integer(),
    // Average of processes that run or wait for a core, over the last minute.
    load: Type.Number(),
    memoryBytes: Type.Integer(),
    memoryFreeBytes: Type.Integer(),
    // Size of the disk with the data.
    diskBytes: Type.Integer(),
    diskFreeBytes: Type.Integer(),
  }),
  // Null if the handler does not respond.
  engines: Type.Union([
    Type.Null(),
    Type.Array(
      Type.Object({
        id: Type.Integer(),
        role: Type.String({ description: '`serving`, `quarantine` or `spare`' }),
        state: Type.String(),
        restarts: Type.Integer({ description: 'How many earlier processes this process has replaced' }),
        rssBytes: Type.Integer(),
        load: Type.Integer({ description: 'Running and waiting requests' }),
      }),
    ),
  ]),
  // The twenty projects with the most invocations in the last hour, and the twenty with the most failures.
  projects: Type.Array(
    Type.Object({
      projectId: Type.String(),
      name: Type.String(),
      organization: Type.String({ description: 'Its slug' }),
      invocations: Type.Integer(),
      failures: Type.Integer(),
      cpuMs: Type.Number(),
    }),
  ),
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
      summary: 'Health of the platform',
      response: Type.Object({ findings: Type.Array(Finding) }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      return { findings: await checkHealth(ctx.env) };
    },
  )
  .get(
    '/operator/overview',
    {
      ...needs('operator'),
      tags: ['operator'],
      summary: 'Read the load of the machine, its engines, and the busiest and most failing projects of the last hour',
      response: Overview,
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { folder, privatePort, sql, telemetryLimits } = ctx.env;
      const [machine, engines, projects] = await Promise.all([
        readMachine(folder),
        readEngines(privatePort),
        readWithin(sql, telemetryLimits.scanMs, readBusiest),
      ]);
      return { machine, engines, projects };
    },
  )
  .post(
    '/operator/accounts/:accountId/recovery-link',
    {
      ...needs('operator'),
      tags: ['operator'],
      summary: 'Create a link with which an account sets a new password once',
      description: 'The link expires after a day. Give the link only to this person: it grants access to the account.',
      body: Type.Object({
        removeSecondFactor: Type.Optional(
          Type.Boolean({ description: 'Whether the link also turns off two-factor authentication' }),
        ),
      }),
      response: { 201: Type.Object({ url: Type.String(), expiresAt: Moment }) },
    },
    async (ctx) => {
      ctx.state.access.operator();
      checkOffered(ctx.env);
      const { accountId } = ctx.params;
      const removesFactor = ctx.body.removeSecondFactor === true;
      const made = await ctx.env.sql.begin(async (tx) => {
        const [account] = await tx`SELECT 1 FROM control.account WHERE id = ${accountId}`;
        if (account === undefined) throw new ApiError('not_found');
        await ctx.state.audit(tx, {
          organizationId: null,
          action: 'account.recovery_link',
          subjectKind: 'account',
          subjectId: accountId,
          details: { removesFactor },
        });
        const expiresAt = new Date(Date.now() + RECOVERY_SECONDS * 1000).toISOString();
        const url = await makeRecoveryUrl(tx, ctx.env.addresses.ui, { accountId, removesFactor }, RECOVERY_SECONDS);
        return { url, expiresAt };
      });
      return ctx.json(made, 201);
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
        'Call this after you have added a new key before the earlier key. `unreadable` counts values that no listed key can decrypt. When `resealed` is 0, you can remove the earlier key.',
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
