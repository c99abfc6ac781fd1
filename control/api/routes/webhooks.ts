// Outbound webhooks of an organization: create with a secret that is shown once, test, list deliveries.
import Type from '#core/typebox/typebox.mjs';
import { seal } from '#core/encryption.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { platform } from '#packages/worker/index.ts';
import { urlProblem } from '#core/way-out/post.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import { newSecret } from '../../access/secrets.ts';
import { momentOfColumn } from '../../records/moment.ts';
import { secretContext } from '../../webhooks/deliveries.ts';
import { webhookEvents } from '../../webhooks/events.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';
import { momentOf, pageOf, pageQuery, readPage, toPage } from '../../http/page.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';

const tags = ['webhooks'];
const Events = Type.Array(Type.Enum([...webhookEvents]), { minItems: 1, maxItems: webhookEvents.length });

const Webhook = Type.Object({
  id: Id,
  url: Type.String(),
  events: Type.Array(Type.String()),
  projectId: nullable(Id),
  enabled: Type.Boolean(),
  allowPrivate: Type.Boolean(),
  createdAt: Timestamp,
});

const Delivery = Type.Object({
  id: Id,
  event: Type.String(),
  attempt: Type.Integer(),
  // Of the last attempt.
  status: nullable(Type.Integer()),
  error: nullable(Type.String()),
  createdAt: Timestamp,
  deliveredAt: nullable(Timestamp),
  // Null: no further attempt.
  nextAttemptAt: nullable(Timestamp),
});

interface WebhookRow {
  readonly id: string;
  readonly url: string;
  readonly events: string[];
  readonly project_id: string | null;
  readonly enabled: boolean;
  readonly is_private: boolean;
  readonly created_at: Date;
}

interface DeliveryRow {
  readonly id: string;
  readonly event: string;
  readonly attempt: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly created_at: Date;
  readonly delivered_at: Date | null;
  readonly due_at: Date | null;
  readonly position: string;
}

const toWebhook = (row: WebhookRow) => ({
  id: row.id,
  url: row.url,
  events: row.events,
  projectId: row.project_id,
  enabled: row.enabled,
  allowPrivate: row.is_private,
  createdAt: row.created_at.toISOString(),
});

const toDelivery = (row: DeliveryRow) => ({
  id: row.id,
  event: row.event,
  attempt: row.attempt,
  status: row.status,
  error: row.error,
  createdAt: row.created_at.toISOString(),
  deliveredAt: row.delivered_at?.toISOString() ?? null,
  nextAttemptAt: row.due_at?.toISOString() ?? null,
});

const path = '/orgs/:id/webhooks';
const needed = needs('webhook:write', 'organization');

export const webhooks = platform<Dependencies, RequestState>()
  .get(
    path,
    { ...needed, tags, summary: 'List the webhooks of an organization', response: Type.Array(Webhook) },
    async (ctx) => {
      const rows = await ctx.env.sql<WebhookRow[]>`
        SELECT * FROM control.webhook WHERE organization_id = ${ctx.params.id} ORDER BY created_at, id`;
      return rows.map(toWebhook);
    },
  )
  .post(
    path,
    {
      ...needs('webhook:write', 'organization', ['operator']),
      tags,
      summary: 'Make a webhook; its secret is shown this once',
      body: Type.Object(
        {
          url: Type.String({ maxLength: 2048 }),
          events: Events,
          projectId: Type.Optional(Id),
          allowPrivate: Type.Optional(
            Type.Boolean({ description: 'May lead to http and private addresses; only operators may' }),
          ),
        },
        { additionalProperties: false },
      ),
      response: { 201: Type.Object({ ...Webhook.properties, secret: Type.String() }) },
    },
    async (ctx) => {
      const { url, events, projectId = null, allowPrivate = false } = ctx.body;
      if (allowPrivate) ctx.state.access.operator();
      const problem = urlProblem(url, allowPrivate);
      if (problem !== null) throw new ApiError('bad_request', { reason: `body.url: ${problem}` });
      const { id: organizationId } = ctx.params;
      const { sql, keys, limits } = ctx.env;
      const { secret } = newSecret('whsec');
      const id = newId('webhook');
      const made = await sql.begin(async (tx) => {
        await tx`SELECT 1 FROM control.organization WHERE id = ${organizationId} FOR UPDATE`;
        const [count] = await tx<{ count: number }[]>`
          SELECT count(*)::int AS count FROM control.webhook WHERE organization_id = ${organizationId}`;
        const allowed = limits.webhooksMax;
        if (count!.count >= allowed) throw new ApiError('limit_reached', { what: 'Webhooks', allowed });
        if (projectId !== null) {
          const [project] = await tx`
            SELECT 1 FROM control.project
            WHERE id = ${projectId} AND organization_id = ${organizationId} AND deleted_at IS NULL`;
          if (project === undefined) throw new ApiError('not_found');
        }
        const [row] = await tx<WebhookRow[]>`
          INSERT INTO control.webhook (id, organization_id, project_id, url, events, secret, is_private)
          VALUES (${id}, ${organizationId}, ${projectId}, ${url}, ${[...new Set(events)]},
            ${seal(keys, secret, secretContext(id))}, ${allowPrivate})
          RETURNING *`;
        const details = { host: new URL(url).host, events: [...new Set(events)] };
        await ctx.state.audit(tx, { ...subject(organizationId, id, 'webhook.create'), projectId, details });
        return row!;
      });
      return ctx.json({ ...toWebhook(made), secret }, 201);
    },
  )
  .patch(
    `${path}/:webhookId`,
    {
      ...needed,
      tags,
      summary: 'Switch a webhook on or off, or change its events',
      body: Type.Object(
        { enabled: Type.Optional(Type.Boolean()), events: Type.Optional(Events) },
        { additionalProperties: false },
      ),
      response: Webhook,
    },
    async (ctx) => {
      const { id: organizationId, webhookId } = ctx.params;
      const { enabled = null, events } = ctx.body;
      return ctx.env.sql.begin(async (tx) => {
        const [row] = await tx<WebhookRow[]>`
          UPDATE control.webhook SET enabled = coalesce(${enabled}, enabled),
            events = coalesce(${events === undefined ? null : [...new Set(events)]}, events)
          WHERE id = ${webhookId} AND organization_id = ${organizationId} RETURNING *`;
        if (row === undefined) throw new ApiError('not_found');
        // Cancel pending deliveries.
        if (!row.enabled)
          await tx`
            UPDATE control.webhook_delivery SET due_at = NULL, error = 'The webhook was switched off'
            WHERE webhook_id = ${webhookId} AND due_at IS NOT NULL`;
        await ctx.state.audit(tx, {
          ...subject(organizationId, webhookId, 'webhook.update'),
          details: { enabled: row.enabled },
        });
        return toWebhook(row);
      });
    },
  )
  .delete(
    `${path}/:webhookId`,
    { ...needed, tags, summary: 'Delete a webhook and its deliveries', response: { 204: null } },
    async (ctx) => {
      const { id: organizationId, webhookId } = ctx.params;
      await ctx.env.sql.begin(async (tx) => {
        const { count } = await tx`
          DELETE FROM control.webhook WHERE id = ${webhookId} AND organization_id = ${organizationId}`;
        if (count === 0) throw new ApiError('not_found');
        await ctx.state.audit(tx, subject(organizationId, webhookId, 'webhook.delete'));
      });
      return ctx.json(null, 204);
    },
  )
  .post(
    `${path}/:webhookId/test`,
    { ...needed, tags, summary: 'Send the event `ping`', response: { 202: Type.Object({ deliveryId: Id }) } },
    async (ctx) => {
      const { id: organizationId, webhookId } = ctx.params;
      const deliveryId = newId('webhookDelivery');
      await ctx.env.sql.begin(async (tx) => {
        await ofOrganization(tx, organizationId, webhookId);
        const createdAt = new Date().toISOString();
        const body = { type: 'ping', createdAt, organizationId, projectId: null, data: {} };
        await tx`
          INSERT INTO control.webhook_delivery (id, webhook_id, event, body, due_at)
          VALUES (${deliveryId}, ${webhookId}, 'ping', ${tx.json(body)}, now())`;
        await tx`SELECT pg_notify('control_webhook', '')`;
        await ctx.state.audit(tx, subject(organizationId, webhookId, 'webhook.test'));
      });
      return ctx.json({ deliveryId }, 202);
    },
  )
  .get(
    `${path}/:webhookId/deliveries`,
    {
      ...needed,
      tags,
      summary: 'List deliveries of the last thirty days, the newest first',
      query: Type.Object(pageQuery),
      response: pageOf(Delivery),
    },
    async (ctx) => {
      const { id: organizationId, webhookId } = ctx.params;
      const { sql } = ctx.env;
      await ofOrganization(sql, organizationId, webhookId);
      const { count, after } = readPage(ctx.query);
      const rows = await sql<DeliveryRow[]>`
        SELECT *, ${momentOfColumn(sql, 'created_at')} AS position FROM control.webhook_delivery
        WHERE webhook_id = ${webhookId}
          ${after === null ? sql`` : sql`AND (created_at, id) < (${momentOf(after)}::text::timestamptz, ${after.id})`}
        ORDER BY created_at DESC, id DESC LIMIT ${count}`;
      return toPage(rows, count, toDelivery, (row) => ({ order: row.position, id: row.id }));
    },
  )
  .post(
    `${path}/:webhookId/deliveries/:deliveryId/redeliver`,
    { ...needed, tags, summary: 'Send a delivery again, under its id', response: { 202: Delivery } },
    async (ctx) => {
      const { id: organizationId, webhookId, deliveryId } = ctx.params;
      const row = await ctx.env.sql.begin(async (tx) => {
        await ofOrganization(tx, organizationId, webhookId);
        const [again] = await tx<DeliveryRow[]>`
          UPDATE control.webhook_delivery
          SET attempt = 0, due_at = now(), lease_until = NULL, status = NULL, error = NULL, delivered_at = NULL
          WHERE id = ${deliveryId} AND webhook_id = ${webhookId} RETURNING *`;
        if (again === undefined) throw new ApiError('not_found');
        await tx`SELECT pg_notify('control_webhook', '')`;
        await ctx.state.audit(tx, {
          ...subject(organizationId, webhookId, 'webhook.redeliver'),
          details: { deliveryId },
        });
        return again;
      });
      return ctx.json(toDelivery(row), 202);
    },
  );

/** @throws {ApiError} `not_found` if it belongs to another organization. */
async function ofOrganization(sql: Sql | Transaction, organizationId: string, webhookId: string): Promise<void> {
  const [row] = await sql`
    SELECT 1 FROM control.webhook WHERE id = ${webhookId} AND organization_id = ${organizationId}`;
  if (row === undefined) throw new ApiError('not_found');
}

function subject(organizationId: string, subjectId: string, action: string) {
  return { organizationId, action, subjectKind: 'webhook', subjectId } as const;
}
