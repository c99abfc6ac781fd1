// Workflows: runs with their steps and logs, and actions on a run.
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
  NumberCursor,
  reads,
  writes,
  type ResourceState,
} from './access.ts';

const Failure = Type.Union([Type.Object({ name: Type.String(), message: Type.String() }), Type.Null()]);
const Run = Type.Object({
  id: Type.String(),
  status: Type.String({ description: 'pending, running, paused, completed, failed or cancelled' }),
  error: Failure,
  deployment: Type.String(),
  createdAt: Type.Number(),
  startedAt: NullableNumber,
  completedAt: NullableNumber,
});
const RunDetail = Type.Object({
  ...Run.properties,
  input: Type.Unknown(),
  output: Type.Unknown(),
  steps: Type.Array(
    Type.Object({
      name: Type.String(),
      kind: Type.String({ description: 'run, sleep or event' }),
      status: Type.String({ description: 'done, failed or waiting' }),
      attempts: Type.Number({ description: 'Failed attempts' }),
      result: Type.Unknown(),
      error: Failure,
      wakeAt: NullableNumber,
      eventType: NullableText,
      startedAt: Type.Number(),
      endedAt: NullableNumber,
    }),
  ),
  log: Type.Array(Type.Object({ at: Type.Number(), message: Type.String(), content: Type.Unknown() })),
});
const ofWorkflow = Type.Object({ id: Type.String(), workflow: BindingName });
/** Run ids may be any text, so they are not part of the path. */
const ofRun = Type.Object({ ...branchQuery, run: Type.String({ minLength: 1, maxLength: 512 }) });

export const workflows = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/workflows/:workflow/runs',
    {
      ...reads,
      summary: 'List the runs of a workflow, newest first',
      params: ofWorkflow,
      query: Type.Object({
        ...branchQuery,
        status: Type.Optional(Type.String({ maxLength: 20 })),
        cursor: NumberCursor,
        limit: Limit,
      }),
      response: Type.Object({ items: Type.Array(Run), nextCursor: NullableText }),
    },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      const { runs, cursor } = await ctx.state.resources.ask('workflow.list', { project, branch, binding, args });
      return { items: [...runs], nextCursor: cursor };
    },
  )
  .post(
    '/projects/:id/workflows/:workflow/runs',
    {
      ...writes,
      summary: 'Start a run',
      params: ofWorkflow,
      query: branchOnly,
      body: Type.Object({
        input: Type.Optional(Type.Unknown()),
        id: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
      }),
      response: { 201: Type.Object({ id: Type.String() }) },
    },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const args = { id: ctx.body.id, input: ctx.body.input ?? null };
      const question = { project, branch: ctx.query.branch, binding, args };
      return ctx.json(await ctx.state.resources.ask('workflow.start', question), 201);
    },
  )
  .get(
    '/projects/:id/workflows/:workflow/run',
    {
      ...reads,
      summary: 'Read a run with its steps and its log',
      params: ofWorkflow,
      query: ofRun,
      response: RunDetail,
    },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, run: id } = ctx.query;
      const { run } = await ctx.state.resources.ask('workflow.get', { project, branch, binding, args: { id } });
      if (run === null) throw ctx.state.resources.refuse('not_found', 'No such run');
      return { ...run, steps: [...run.steps], log: [...run.log] };
    },
  )
  .post(
    '/projects/:id/workflows/:workflow/run/cancel',
    { ...writes, summary: 'Cancel a run', params: ofWorkflow, query: ofRun, response: Done },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, run: id } = ctx.query;
      await ctx.state.resources.ask('workflow.cancel', { project, branch, binding, args: { id } });
      return done();
    },
  )
  .post(
    '/projects/:id/workflows/:workflow/run/pause',
    {
      ...writes,
      summary: 'Pause a run: the running step completes, and no other starts',
      params: ofWorkflow,
      query: ofRun,
      response: Done,
    },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, run: id } = ctx.query;
      await ctx.state.resources.ask('workflow.pause', { project, branch, binding, args: { id } });
      return done();
    },
  )
  .post(
    '/projects/:id/workflows/:workflow/run/resume',
    { ...writes, summary: 'Resume a paused run', params: ofWorkflow, query: ofRun, response: Done },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, run: id } = ctx.query;
      await ctx.state.resources.ask('workflow.resume', { project, branch, binding, args: { id } });
      return done();
    },
  )
  .post(
    '/projects/:id/workflows/:workflow/run/restart',
    {
      ...writes,
      summary: 'Run a workflow run again, from the beginning or from a given step',
      params: ofWorkflow,
      query: ofRun,
      body: Type.Object({ fromStep: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })) }),
      response: Done,
    },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, run: id } = ctx.query;
      const args = { id, fromStep: ctx.body.fromStep };
      await ctx.state.resources.ask('workflow.restart', { project, branch, binding, args });
      return done();
    },
  )
  .post(
    '/projects/:id/workflows/:workflow/run/events',
    {
      ...writes,
      summary: 'Send an event to a run',
      params: ofWorkflow,
      query: ofRun,
      body: Type.Object({
        type: Type.String({ minLength: 1, maxLength: 512 }),
        payload: Type.Optional(Type.Unknown()),
      }),
      response: Done,
    },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, run: id } = ctx.query;
      const args = { id, type: ctx.body.type, payload: ctx.body.payload ?? null };
      await ctx.state.resources.ask('workflow.event', { project, branch, binding, args });
      return done();
    },
  );
