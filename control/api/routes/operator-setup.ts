// The first setup of an installation: its steps, skipped steps, the domain's DNS, and the password of the operator.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { ApiError } from '../../http/errors.ts';
import { checkDns, readSetup } from '../../operator/setup.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { readPassword } from '../../records/passwords.ts';
import { finishSetup, markSkipped, setupSteps, type SetupStepName } from '../../records/setup.ts';
import { checkOffered, makeNewPassword, saveNewPassword, USERNAME_TAKEN } from '../../sign-in/new-password.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';

const tags = ['operator'];
const DOMAIN = '^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])?$';
const Short = Type.String({ maxLength: 400 });

const Setup = Type.Object({
  isFinished: Type.Boolean(),
  steps: Type.Array(
    Type.Object({
      name: Type.Enum([...setupSteps]),
      state: Type.Enum(['done', 'open', 'skipped']),
      message: Type.String(),
      advice: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
});

export const operatorSetup = platform<Dependencies, RequestState>()
  .get(
    '/operator/setup',
    { ...needs('operator'), tags, summary: 'Read the steps of the setup and their state', response: Setup },
    async (ctx) => {
      const { accountId } = ctx.state.access.operator();
      const [organization] = await ctx.env.sql<{ id: string }[]>`
        SELECT o.id FROM control.membership m JOIN control.organization o ON o.id = m.organization_id
        WHERE m.account_id = ${accountId} ORDER BY o.created_at, o.id LIMIT 1`;
      return readSetup(ctx.env, { accountId, organizationId: organization?.id ?? null });
    },
  )
  .get(
    '/operator/setup/dns',
    {
      ...needs('operator'),
      tags,
      summary: 'Check whether a domain points to this platform, and list the required DNS records',
      query: Type.Object({
        domain: Type.String({ pattern: DOMAIN, description: 'Lower-case, such as apps.example.com' }),
      }),
      response: Type.Object({
        records: Type.Array(Type.Object({ type: Type.Enum(['A', 'AAAA']), name: Type.String(), value: Type.String() })),
        found: Type.Array(Type.String()),
        isReady: Type.Boolean(),
        message: Type.String(),
      }),
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { records, found, ...rest } = await checkDns(ctx.env, ctx.query.domain);
      return { records: [...records], found: [...found], ...rest };
    },
  )
  .post(
    '/operator/setup/account',
    {
      ...needs('operator'),
      tags,
      summary: 'Set the first password of the current operator',
      description:
        'This works only for an account without a password. Later, the password is changed on the account page, which requires the current one.',
      body: Type.Object({ username: Short, password: Short }),
      response: { 204: null },
    },
    async (ctx) => {
      const { accountId } = ctx.state.access.operator();
      const { sql } = ctx.env;
      checkOffered(ctx.env);
      const next = await makeNewPassword(ctx.env, ctx.body.username, ctx.body.password);
      if ('problem' in next) throw new ApiError('bad_request', { reason: `body: ${next.problem}` });
      await sql.begin(async (tx) => {
        await tx`SELECT FROM control.account WHERE id = ${accountId} FOR UPDATE`;
        if ((await readPassword(tx, accountId)) !== null)
          throw new ApiError('conflict', { reason: 'You already have a password: change it on your account page' });
        if (!(await saveNewPassword(tx, accountId, next))) throw new ApiError('conflict', { reason: USERNAME_TAKEN });
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    '/operator/setup/finish',
    {
      ...needs('operator'),
      tags,
      summary: 'End the setup: sign-in no longer opens the setup page',
      response: { 204: null },
    },
    async (ctx) => {
      ctx.state.access.operator();
      await ctx.env.sql.begin((tx) => finishSetup(tx));
      return ctx.json(null, 204);
    },
  )
  .post(
    '/operator/setup/steps/:step',
    {
      ...needs('operator'),
      tags,
      summary: 'Skip a step of the setup, or return to it',
      body: Type.Object({ isSkipped: Type.Boolean() }),
      response: { 204: null },
    },
    async (ctx) => {
      ctx.state.access.operator();
      const { step } = ctx.params;
      if (!isStep(step)) throw new ApiError('not_found');
      await ctx.env.sql.begin((tx) => markSkipped(tx, step, ctx.body.isSkipped));
      return ctx.json(null, 204);
    },
  );

function isStep(name: string): name is SetupStepName {
  return setupSteps.some((one) => one === name);
}
