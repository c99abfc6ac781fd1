// Alerts of a project and of the operator: rules, channels, events and deliveries. The operations are in
// alert-records.ts; the two sets of routes differ in access and in what a rule may watch.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';
import { pageQuery } from '../../http/page.ts';
import { Id, nullable } from '../../http/schemas.ts';
import {
  changeRule,
  ChannelSchema,
  deleteOne,
  HistorySchema,
  listChannels,
  listRules,
  MadeChannelSchema,
  makeChannel,
  makeRule,
  NewChannelSchema,
  NewOperatorRule,
  NewProjectRule,
  readHistory,
  RuleChange,
  RuleSchema,
  testChannel,
  type AlertOwner,
} from './alert-records.ts';

const tags = ['alerts'];
const Rules = Type.Array(RuleSchema);
// `sendsMail`: whether channels may be email addresses (AUTH_MAIL_URL is set).
const Channels = Type.Object({ sendsMail: Type.Boolean(), items: Type.Array(ChannelSchema) });
const Tested = Type.Object({ eventId: nullable(Id) });
const operators: AlertOwner = { projectId: null, organizationId: null };

/** The operator as owner. @throws {ApiError} for other callers. */
function asOperator({ state }: { readonly state: RequestState }): AlertOwner {
  state.access.operator();
  return operators;
}

const reads = needs('project:read', 'project');
const writes = needs('alert:write', 'project');
const makes = needs('alert:write', 'project', ['operator']);

export const projectAlerts = platform<Dependencies, RequestState>()
  .get(
    '/projects/:id/alert-rules',
    { ...reads, tags, summary: 'List the alert rules of a project', response: Rules },
    async (ctx) => listRules(ctx, await ctx.state.access.project('project:read', ctx.params.id)),
  )
  .post(
    '/projects/:id/alert-rules',
    { ...writes, tags, summary: 'Make an alert rule', body: NewProjectRule, response: { 201: RuleSchema } },
    async (ctx) =>
      ctx.json(await makeRule(ctx, await ctx.state.access.project('alert:write', ctx.params.id), ctx.body), 201),
  )
  .patch(
    '/projects/:id/alert-rules/:ruleId',
    {
      ...writes,
      tags,
      summary: 'Change an alert rule, or switch it on or off',
      body: RuleChange,
      response: RuleSchema,
    },
    async (ctx) =>
      changeRule(ctx, await ctx.state.access.project('alert:write', ctx.params.id), ctx.params.ruleId, ctx.body),
  )
  .delete(
    '/projects/:id/alert-rules/:ruleId',
    { ...writes, tags, summary: 'Delete an alert rule and what it told', response: { 204: null } },
    async (ctx) => {
      await deleteOne(ctx, await ctx.state.access.project('alert:write', ctx.params.id), 'rule', ctx.params.ruleId);
      return ctx.json(null, 204);
    },
  )
  .get(
    '/projects/:id/alert-channels',
    { ...reads, tags, summary: 'List the channels of alerts of a project', response: Channels },
    async (ctx) => ({
      sendsMail: ctx.env.mailUrl !== null,
      items: await listChannels(ctx, await ctx.state.access.project('project:read', ctx.params.id)),
    }),
  )
  .post(
    '/projects/:id/alert-channels',
    {
      ...makes,
      tags,
      summary: 'Make a channel; its URL is not shown again, the secret of a webhook this once',
      body: NewChannelSchema,
      response: { 201: MadeChannelSchema },
    },
    async (ctx) =>
      ctx.json(await makeChannel(ctx, await ctx.state.access.project('alert:write', ctx.params.id), ctx.body), 201),
  )
  .delete(
    '/projects/:id/alert-channels/:channelId',
    { ...writes, tags, summary: 'Delete a channel', response: { 204: null } },
    async (ctx) => {
      await deleteOne(
        ctx,
        await ctx.state.access.project('alert:write', ctx.params.id),
        'channel',
        ctx.params.channelId,
      );
      return ctx.json(null, 204);
    },
  )
  .post(
    '/projects/:id/alert-channels/:channelId/test',
    { ...writes, tags, summary: 'Send a test to a channel, once a minute at most', response: { 202: Tested } },
    async (ctx) =>
      ctx.json(
        await testChannel(ctx, await ctx.state.access.project('alert:write', ctx.params.id), ctx.params.channelId),
        202,
      ),
  )
  .get(
    '/projects/:id/alerts',
    {
      ...reads,
      tags,
      summary: 'List what fired, resolved and was tried in the last ninety days, the newest first',
      query: Type.Object(pageQuery),
      response: HistorySchema,
    },
    async (ctx) => readHistory(ctx, await ctx.state.access.project('project:read', ctx.params.id), ctx.query),
  );

const operates = needs('operator');

export const operatorAlerts = platform<Dependencies, RequestState>()
  .get(
    '/operator/alert-rules',
    { ...operates, tags, summary: 'List the alert rules of the operator', response: Rules },
    async (ctx) => listRules(ctx, asOperator(ctx)),
  )
  .post(
    '/operator/alert-rules',
    { ...operates, tags, summary: 'Make an alert rule', body: NewOperatorRule, response: { 201: RuleSchema } },
    async (ctx) => ctx.json(await makeRule(ctx, asOperator(ctx), ctx.body), 201),
  )
  .patch(
    '/operator/alert-rules/:ruleId',
    {
      ...operates,
      tags,
      summary: 'Change an alert rule, or switch it on or off',
      body: RuleChange,
      response: RuleSchema,
    },
    async (ctx) => changeRule(ctx, asOperator(ctx), ctx.params.ruleId, ctx.body),
  )
  .delete(
    '/operator/alert-rules/:ruleId',
    { ...operates, tags, summary: 'Delete an alert rule and what it told', response: { 204: null } },
    async (ctx) => {
      await deleteOne(ctx, asOperator(ctx), 'rule', ctx.params.ruleId);
      return ctx.json(null, 204);
    },
  )
  .get(
    '/operator/alert-channels',
    { ...operates, tags, summary: 'List the channels of alerts of the operator', response: Channels },
    async (ctx) => ({ sendsMail: ctx.env.mailUrl !== null, items: await listChannels(ctx, asOperator(ctx)) }),
  )
  .post(
    '/operator/alert-channels',
    {
      ...operates,
      tags,
      summary: 'Make a channel; its URL is not shown again, the secret of a webhook this once',
      body: NewChannelSchema,
      response: { 201: MadeChannelSchema },
    },
    async (ctx) => ctx.json(await makeChannel(ctx, asOperator(ctx), ctx.body), 201),
  )
  .delete(
    '/operator/alert-channels/:channelId',
    { ...operates, tags, summary: 'Delete a channel', response: { 204: null } },
    async (ctx) => {
      await deleteOne(ctx, asOperator(ctx), 'channel', ctx.params.channelId);
      return ctx.json(null, 204);
    },
  )
  .post(
    '/operator/alert-channels/:channelId/test',
    { ...operates, tags, summary: 'Send a test to a channel, once a minute at most', response: { 202: Tested } },
    async (ctx) => ctx.json(await testChannel(ctx, asOperator(ctx), ctx.params.channelId), 202),
  )
  .get(
    '/operator/alerts',
    {
      ...operates,
      tags,
      summary: 'List what fired, resolved and was tried in the last ninety days, the newest first',
      query: Type.Object(pageQuery),
      response: HistorySchema,
    },
    async (ctx) => readHistory(ctx, asOperator(ctx), ctx.query),
  );
