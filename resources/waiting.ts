// What waits for a moment: queues with their dead letters, runs of workflows, timers, schedules.
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchQuery,
  done,
  Done,
  NullableNumber,
  NullableText,
  reads,
  writes,
  type ResourceState,
} from './access.ts';

const params = Type.Object({ id: Type.String(), queue: BindingName });
const branchOnly = Type.Object(branchQuery);
const Cursor = Type.Optional(Type.String({ maxLength: 1000 }));
const NumberCursor = Type.Optional(Type.String({ maxLength: 20, pattern: '^\\d+$' }));
const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 }));
const Dead = Type.Optional(Type.Boolean({ description: 'The dead letters of the queue' }));
const Count = Type.Object({ count: Type.Number() });
const Message = Type.Object({
  id: Type.String(),
  payload: Type.Unknown(),
  attempt: Type.Number(),
  timestamp: Type.Number({ description: 'When it was sent, in milliseconds since 1970' }),
  dueAt: NullableNumber,
  deadReason: NullableText,
});
const Messages = Type.Object({ items: Type.Array(Message), nextCursor: NullableText });

export const queues = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/queues/:queue/stats',
    {
      ...reads,
      summary: 'How a queue stands',
      params,
      query: branchOnly,
      response: Type.Object({
        backlogCount: Type.Number(),
        backlogBytes: Type.Number(),
        inFlightCount: Type.Number(),
        oldestMessageTimestamp: NullableNumber,
        deadCount: Type.Number(),
      }),
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      return ctx.state.resources.ask('queue.stats', { project, branch: ctx.query.branch, binding, args: {} });
    },
  )
  .get(
    '/projects/:id/queues/:queue/messages',
    {
      ...reads,
      summary: 'List messages in the order they were sent, or dead letters and why they are',
      params,
      query: Type.Object({ ...branchQuery, dead: Dead, cursor: NumberCursor, limit: Limit }),
      response: Messages,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, cursor, dead, limit } = ctx.query;
      const args = { dead, limit, ...(cursor !== undefined && { after: Number(cursor) }) };
      const { messages, next } = await ctx.state.resources.ask('queue.list', { project, branch, binding, args });
      return { items: [...messages], nextCursor: next === null ? null : String(next) };
    },
  )
  .get(
    '/projects/:id/queues/:queue/dead',
    {
      ...reads,
      summary: 'List dead letters, and why they are',
      params,
      query: Type.Object({ ...branchQuery, cursor: NumberCursor, limit: Limit }),
      response: Messages,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, cursor, limit } = ctx.query;
      const args = { dead: true, limit, ...(cursor !== undefined && { after: Number(cursor) }) };
      const { messages, next } = await ctx.state.resources.ask('queue.list', { project, branch, binding, args });
      return { items: [...messages], nextCursor: next === null ? null : String(next) };
    },
  )
  .post(
    '/projects/:id/queues/:queue/messages',
    {
      ...writes,
      summary: 'Send a message',
      params,
      query: branchOnly,
      body: Type.Object({
        payload: Type.Unknown(),
        delaySeconds: Type.Optional(Type.Number({ minimum: 0 })),
        dedupeId: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
        orderingKey: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
      }),
      response: { 201: Type.Object({ messageId: Type.String() }) },
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const question = { project, branch: ctx.query.branch, binding, args: ctx.body };
      return ctx.json(await ctx.state.resources.ask('queue.send', question), 201);
    },
  )
  .delete(
    '/projects/:id/queues/:queue/messages/:message',
    {
      ...writes,
      summary: 'Delete a message that is not being delivered, or a dead letter',
      params: Type.Object({ id: Type.String(), queue: BindingName, message: Type.String({ maxLength: 256 }) }),
      query: Type.Object({ ...branchQuery, dead: Dead }),
      response: Done,
    },
    async (ctx) => {
      const { id: project, queue: binding, message } = ctx.params;
      const { branch, dead } = ctx.query;
      const args = { id: message, dead };
      const { removed } = await ctx.state.resources.ask('queue.remove', { project, branch, binding, args });
      if (!removed)
        throw ctx.state.resources.refuse('not_found', 'The message is gone, or is being delivered at this moment');
      return done();
    },
  )
  .post(
    '/projects/:id/queues/:queue/redrive',
    {
      ...writes,
      summary: 'Send dead letters to their queue again: all, or one',
      params,
      query: Type.Object({ ...branchQuery, message: Type.Optional(Type.String({ maxLength: 256 })) }),
      response: Count,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, message } = ctx.query;
      return ctx.state.resources.ask('queue.redrive', { project, branch, binding, args: { id: message } });
    },
  )
  .post(
    '/projects/:id/queues/:queue/purge',
    {
      ...writes,
      summary: 'Delete all messages that are not being delivered, or all dead letters',
      params,
      query: Type.Object({ ...branchQuery, dead: Dead }),
      response: Count,
    },
    async (ctx) => {
      const { id: project, queue: binding } = ctx.params;
      const { branch, dead } = ctx.query;
      return ctx.state.resources.ask('queue.purge', { project, branch, binding, args: { dead } });
    },
  );

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
      attempts: Type.Number({ description: 'Attempts that failed' }),
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
/** An id of a run may be any text: it is no part of a path. */
const ofRun = Type.Object({ ...branchQuery, run: Type.String({ minLength: 1, maxLength: 512 }) });

export const workflows = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/workflows/:workflow/runs',
    {
      ...reads,
      summary: 'List the runs of a workflow, the newest first',
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
      summary: 'A run with its steps and its log',
      params: ofWorkflow,
      query: ofRun,
      response: RunDetail,
    },
    async (ctx) => {
      const { id: project, workflow: binding } = ctx.params;
      const { branch, run: id } = ctx.query;
      const { run } = await ctx.state.resources.ask('workflow.get', { project, branch, binding, args: { id } });
      if (run === null) throw ctx.state.resources.refuse('not_found', 'There is no such run');
      return { ...run, steps: [...run.steps], log: [...run.log] };
    },
  )
  .post(
    '/projects/:id/workflows/:workflow/run/cancel',
    { ...writes, summary: 'End a run', params: ofWorkflow, query: ofRun, response: Done },
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
      summary: 'Pause a run: the step that runs ends, and no other begins',
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
    { ...writes, summary: 'Let a paused run go on', params: ofWorkflow, query: ofRun, response: Done },
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
      summary: 'Run it again, from the beginning or from a step on',
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
      summary: 'Send a run an event that it waits for, or will',
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
      summary: 'List timers that are set, in the order of their ids',
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
      summary: 'Set a timer, or move the one with its id',
      params: ofTimers,
      query: oneTimer,
      body: Type.Object({
        at: Type.Optional(Type.Number({ description: 'Milliseconds since 1970; or give afterMs' })),
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
      summary: 'Fire a timer now; one that comes again goes on from here',
      params: ofTimers,
      query: oneTimer,
      response: Done,
    },
    async (ctx) => {
      const { id: project, timer: binding } = ctx.params;
      const { branch, key: id } = ctx.query;
      const { found } = await ctx.state.resources.ask('timer.run', { project, branch, binding, args: { id } });
      if (!found) throw ctx.state.resources.refuse('not_found', 'There is no such timer');
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
      summary: 'The schedules of platform.yaml with their next and last run; previews have none',
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
      summary: 'Run a schedule now, once more; triggered is false while it is running',
      params: ofProject,
      query: Type.Object({ ...branchQuery, name: Type.String({ minLength: 1, maxLength: 256 }) }),
      response: Type.Object({ triggered: Type.Boolean() }),
    },
    async (ctx) => {
      const { branch, name } = ctx.query;
      const question = { project: ctx.params.id, branch, args: { name } };
      const { triggered } = await ctx.state.resources.ask('cron.run', question);
      if (triggered === null) throw ctx.state.resources.refuse('not_found', 'There is no such schedule');
      return { triggered };
    },
  );
