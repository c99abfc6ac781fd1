// Alerts of a project and of the operator: rules, channels, events and deliveries. The two sets of routes differ in
// access and in the signals that a rule can watch. For an organization, the alerts that fire in its projects.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import type { RequestContext } from '#packages/worker/route-types.ts';
import type { Permission } from '../../access/permissions.ts';
import { pageQuery } from '../../http/page.ts';
import { Id, nullable } from '../../http/schemas.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { Owner } from '../../records/owned-table.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs, type Needs } from '../request/needs.ts';
import {
  ChannelSchema,
  createChannel,
  deleteChannel,
  listChannels,
  MadeChannelSchema,
  NewChannelSchema,
  testChannel,
} from './alert-channels.ts';
import { HistorySchema, readHistory } from './alert-history.ts';
import {
  changeRule,
  createRule,
  deleteRule,
  FiringSchema,
  listFiring,
  listRules,
  NewOperatorRule,
  NewProjectRule,
  readSeries,
  RuleChange,
  RuleSchema,
  SeriesSchema,
} from './alert-rules.ts';

const tags = ['alerts'];
// `sendsMail`: whether channels may be email addresses (AUTH_MAIL_URL is set).
const Channels = Type.Object({ sendsMail: Type.Boolean(), items: Type.Array(ChannelSchema) });
const Tested = Type.Object({ eventId: nullable(Id) });

/** The owner of the alerts, and the permissions that they need. */
interface AlertAccess {
  readonly reads: Needs;
  readonly writes: Needs;
  /** With the permissions of operators, private addresses can be allowed. */
  readonly creates: Needs;
  /** @throws {ApiError} without the permission. */
  ownerOf(ctx: RequestContext<Dependencies, RequestState>, permission: Permission): Owner | Promise<Owner>;
}

const ofProject: AlertAccess = {
  reads: needs('project:read', 'project'),
  writes: needs('alert:write', 'project'),
  creates: needs('alert:write', 'project', ['operator']),
  ownerOf: ({ state, params }, permission) => state.access.project(permission, (params as { readonly id: string }).id),
};

const ofOperator: AlertAccess = {
  reads: needs('operator'),
  writes: needs('operator'),
  creates: needs('operator'),
  ownerOf({ state }) {
    state.access.operator();
    return { projectId: null, organizationId: null };
  },
};

function alerts<const NewRule extends typeof NewProjectRule | typeof NewOperatorRule>(
  { reads, writes, creates, ownerOf }: AlertAccess,
  rule: NewRule,
) {
  return platform<Dependencies, RequestState>()
    .get(
      '/alert-rules',
      { ...reads, tags, summary: 'List the alert rules', response: Type.Array(RuleSchema) },
      async (ctx) => listRules(ctx.env.sql, await ownerOf(ctx, 'project:read')),
    )
    .post(
      '/alert-rules',
      { ...writes, tags, summary: 'Create an alert rule', body: rule, response: { 201: RuleSchema } },
      async (ctx) => ctx.json(await createRule(ctx, await ownerOf(ctx, 'alert:write'), ctx.body), 201),
    )
    .patch(
      '/alert-rules/:ruleId',
      {
        ...writes,
        tags,
        summary: 'Change an alert rule, or switch it on or off',
        body: RuleChange,
        response: RuleSchema,
      },
      async (ctx) => changeRule(ctx, await ownerOf(ctx, 'alert:write'), ctx.params.ruleId, ctx.body),
    )
    .get(
      '/alert-rules/:ruleId/series',
      {
        ...reads,
        tags,
        summary: 'Read the values of a rule in its last sixty windows, at most two days',
        description: 'Null for rules of AI budgets, certificates and the disk: their values are not stored.',
        response: SeriesSchema,
      },
      async (ctx) => readSeries(ctx.env, await ownerOf(ctx, 'project:read'), ctx.params.ruleId),
    )
    .delete(
      '/alert-rules/:ruleId',
      { ...writes, tags, summary: 'Delete an alert rule and its history', response: { 204: null } },
      async (ctx) => {
        await deleteRule(ctx, await ownerOf(ctx, 'alert:write'), ctx.params.ruleId);
        return ctx.json(null, 204);
      },
    )
    .get(
      '/alert-channels',
      { ...reads, tags, summary: 'List the channels of alerts', response: Channels },
      async (ctx) => ({
        sendsMail: ctx.env.mail.isOn(),
        items: await listChannels(ctx.env.sql, await ownerOf(ctx, 'project:read')),
      }),
    )
    .post(
      '/alert-channels',
      {
        ...creates,
        tags,
        summary: 'Create a channel; its URL is not shown again, the secret of a webhook this once',
        body: NewChannelSchema,
        response: { 201: MadeChannelSchema },
      },
      async (ctx) => ctx.json(await createChannel(ctx, await ownerOf(ctx, 'alert:write'), ctx.body), 201),
    )
    .delete(
      '/alert-channels/:channelId',
      { ...writes, tags, summary: 'Delete a channel', response: { 204: null } },
      async (ctx) => {
        await deleteChannel(ctx, await ownerOf(ctx, 'alert:write'), ctx.params.channelId);
        return ctx.json(null, 204);
      },
    )
    .post(
      '/alert-channels/:channelId/test',
      {
        ...writes,
        tags,
        summary: 'Send a test message to a channel, at most once a minute',
        response: { 202: Tested },
      },
      async (ctx) => ctx.json(await testChannel(ctx, await ownerOf(ctx, 'alert:write'), ctx.params.channelId), 202),
    )
    .get(
      '/alerts',
      {
        ...reads,
        tags,
        summary: 'List the alerts and tests of the last ninety days, newest first',
        query: Type.Object(pageQuery),
        response: HistorySchema,
      },
      async (ctx) => readHistory(ctx.env.sql, await ownerOf(ctx, 'project:read'), ctx.query),
    );
}

export const projectAlerts = platform<Dependencies, RequestState>().route(
  '/projects/:id',
  alerts(ofProject, NewProjectRule),
);

export const operatorAlerts = platform<Dependencies, RequestState>().route(
  '/operator',
  alerts(ofOperator, NewOperatorRule),
);

export const organizationAlerts = platform<Dependencies, RequestState>().get(
  '/orgs/:id/alerts',
  {
    ...needs('project:read', 'organization'),
    tags,
    summary: 'List the alert rules that fire now in the projects of an organization, the newest first',
    response: FiringSchema,
  },
  (ctx) => listFiring(ctx.env.sql, ctx.params.id),
);
