// Timers set by workers, and schedules of platform.yaml.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchOnly,
  branchQuery,
  done,
  Done,
  Limit,
  NullableNumber,
  NullableText,
  reads,
  writes,
  type ResourceState,
} from './access.ts';

const Cursor = Type.Optional(Type.String({ maxLength: 1000 }));
const Timer = Type.Object({
  id: Type.String(),
  scheduledTime: Type.Number({ description: 'Milliseconds since 1970' }),
  payload: Type.Unknown(),
  intervalMs: NullableNumber,
  cron: NullableText,
  timezone: NullableText,
});
const ofTimers = Type.Object({ id: Type.String(), timer: BindingName });
const oneTimer = Type.Object({ ...branchQuery, key: Type.String({ minLength: 1, maxLength: 512 }) });

export const timers = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/timers/:timer',
    {
      ...reads,
      summary: 'List pending timers, ordered by id',
      params: ofTimers,
      query: Type.Object({
        ...branchQuery,
        prefix: Type.Optional(Type.String({ maxLength: 512 })),
        cursor: Cursor,
        limit: Limit,
      }),
      response: Type.Object({ items: Type.Array(Timer), nextCursor: NullableText }),
    },
    async (ctx) => {
      const { id: project, timer: binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      const found = await ctx.state.resources.ask('timer.list', { project, branch, binding, args });
      return { items: [...found.timers], nextCursor: found.cursor };
    },
  )
  .put(
    '/projects/:id/timers/:timer/entry',
    {
      ...writes,
      summary: 'Set a timer, or reschedule the timer with this id',
      params: ofTimers,
      query: oneTimer,
      body: Type.Object({
        at: Type.Optional(Type.Number({ description: 'Milliseconds since 1970; alternative: afterMs' })),
        afterMs: Type.Optional(Type.Number({ minimum: 0 })),
        payload: Type.Optional(Type.Unknown()),
        intervalMs: Type.Optional(Type.Number({ minimum: 1 })),
        cron: Type.Optional(Type.String({ maxLength: 256 })),
        timezone: Type.Optional(Type.String({ maxLength: 100 })),
      }),
      response: Done,
    },
    async (ctx) => {
      const { id: project, timer: binding } = ctx.params;
      const { branch, key: id } = ctx.query;
      const args = { ...ctx.body, id, payload: ctx.body.payload ?? null };
      await ctx.state.resources.ask('timer.set', { project, branch, binding, args });
      return done();
    },
  )
  .post(
    '/projects/:id/timers/:timer/run',
    {
      ...writes,
      summary: 'Fire a timer now; a repeating timer continues from now',
      params: ofTimers,
      query: oneTimer,
      response: Done,
    },
    async (ctx) => {
      const { id: project, timer: binding } = ctx.params;
      const { branch, key: id } = ctx.query;
      const { found } = await ctx.state.resources.ask('timer.run', { project, branch, binding, args: { id } });
      if (!found) throw ctx.state.resources.refuse('not_found', 'No such timer');
      return done();
    },
  )
  .delete(
    '/projects/:id/timers/:timer/entry',
    { ...writes, summary: 'Delete a timer', params: ofTimers, query: oneTimer, response: Done },
    async (ctx) => {
      const { id: project, timer: binding } = ctx.params;
      const { branch, key: id } = ctx.query;
      await ctx.state.resources.ask('timer.delete', { project, branch, binding, args: { id } });
      return done();
    },
  );

const ofProject = Type.Object({ id: Type.String() });

export const schedules = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/schedules',
    {
      ...reads,
      summary: 'List the schedules of platform.yaml with their next and last run; previews have none',
      params: ofProject,
      query: branchOnly,
      response: Type.Object({
        items: Type.Array(
          Type.Object({
            name: Type.String(),
            schedule: Type.String(),
            timezone: Type.String(),
            nextAt: Type.Number({ description: 'Milliseconds since 1970' }),
            lastAt: NullableNumber,
            lastOutcome: NullableText,
          }),
        ),
      }),
    },
    async (ctx) => {
      const question = { project: ctx.params.id, branch: ctx.query.branch, args: {} };
      return { items: [...(await ctx.state.resources.ask('cron.list', question)).schedules] };
    },
  )
  .post(
    '/projects/:id/schedules/run',
    {
      ...writes,
      summary: 'Run a schedule now; `triggered` is false if it is already running',
      params: ofProject,
      query: Type.Object({ ...branchQuery, name: Type.String({ minLength: 1, maxLength: 256 }) }),
      response: Type.Object({ triggered: Type.Boolean() }),
    },
    async (ctx) => {
      const { branch, name } = ctx.query;
      const question = { project: ctx.params.id, branch, args: { name } };
      const { triggered } = await ctx.state.resources.ask('cron.run', question);
      if (triggered === null) throw ctx.state.resources.refuse('not_found', 'No such schedule');
      return { triggered };
    },
  );
