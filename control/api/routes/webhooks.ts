// Outbound webhooks of an organization: create with a secret that is shown once, test, list deliveries.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { newSecret } from '../../access/secrets.ts';
import { ApiError } from '../../http/errors.ts';
import { pageOf, pageQuery, readTimePage, toTimePage } from '../../http/page.ts';
import { Id, nullable, Timestamp } from '../../http/schemas.ts';
import { viewOf } from '../../http/view.ts';
import { sealSecret, webhookKind } from '../../outbound/subscription.ts';
import { AllowPrivate, checkTargetUrl, TargetUrl } from '../../outbound/target-url.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import { newId } from '../../records/ids.ts';
import { timestampOfColumn, newestFirst } from '../../records/timestamp.ts';
import { webhookEvents } from '../../webhooks/events.ts';
import type { Owner } from '../../records/owned-table.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';
import { changeOwned, createOwned, deleteOwned, entryOf, listOwned, lockOwned } from './owned-rows.ts';

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
  // Result of the last attempt.
  status: nullable(Type.Integer()),
  error: nullable(Type.String()),
  createdAt: Timestamp,
  deliveredAt: nullable(Timestamp),
  // Null means no further attempt.
  nextAttemptAt: nullable(Timestamp),
});

interface WebhookRow {
  readonly enabled: boolean;
  readonly is_private: boolean;
}

interface DeliveryRow {
  readonly id: string;
  readonly due_at: Date | null;
  readonly position: string;
}

const toWebhook = viewOf(Webhook, { allowPrivate: (row: WebhookRow) => row.is_private });
const toDelivery = viewOf(Delivery, { nextAttemptAt: (row: DeliveryRow) => row.due_at });

const path = '/orgs/:id/webhooks';
const needed = needs('webhook:write', 'organization');
const ownerOf = ({ id }: { readonly id: string }): Owner => ({ organizationId: id, projectId: null });

export const webhooks = platform<Dependencies, RequestState>()
  .get(
    path,
    { ...needed, tags, summary: 'List the webhooks of an organization', response: Type.Array(Webhook) },
    async (ctx) => (await listOwned<WebhookRow>(ctx.env.sql, webhookKind, ownerOf(ctx.params))).map(toWebhook),
  )
  .post(
    path,
    {
      ...needs('webhook:write', 'organization', ['operator']),
      tags,
      summary: 'Create a webhook; its secret is shown this once',
      body: Type.Object(
        { url: TargetUrl, events: Events, projectId: Type.Optional(Id), allowPrivate: AllowPrivate },
        { additionalProperties: false },
      ),
      response: { 201: Type.Object({ ...Webhook.properties, secret: Type.String() }) },
    },
    async (ctx) => {
      const { url, projectId = null, allowPrivate = false } = ctx.body;
      if (allowPrivate) ctx.state.access.operator();
      checkTargetUrl('body.url', url, allowPrivate);
      const { id: organizationId } = ctx.params;
      const { secret } = newSecret('whsec');
      const id = newId('webhook');
      const events = [...new Set(ctx.body.events)];
      const sealed = sealSecret(ctx.env.keys, webhookKind, id, secret);
      const row = await createOwned<WebhookRow>(
        ctx,
        webhookKind,
        { organizationId, projectId },
        {
          id,
          columns: { project_id: projectId, url, events, secret: sealed, is_private: allowPrivate },
          details: { host: new URL(url).host, events },
        },
        async (tx) => {
          if (projectId === null) return;
          const [project] = await tx`
            SELECT 1 FROM control.project
            WHERE id = ${projectId} AND organization_id = ${organizationId} AND deleted_at IS NULL`;
          if (project === undefined) throw new ApiError('not_found');
        },
      );
      return ctx.json({ ...toWebhook(row), secret }, 201);
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
      const { webhookId } = ctx.params;
      const { enabled, events } = ctx.body;
      const owner = ownerOf(ctx.params);
      const row = await changeOwned<WebhookRow>(ctx, webhookKind, owner, webhookId, async (tx, before) => {
        const isEnabled = enabled ?? before.enabled;
        // Cancel pending deliveries.
        if (!isEnabled)
          await tx`
            UPDATE control.webhook_delivery SET due_at = NULL, error = 'The webhook was switched off'
            WHERE webhook_id = ${webhookId} AND due_at IS NOT NULL`;
        const columns = { enabled, events: events === undefined ? undefined : [...new Set(events)] };
        return { columns, details: { enabled: isEnabled } };
      });
      return toWebhook(row);
    },
  )
  .delete(
    `${path}/:webhookId`,
    { ...needed, tags, summary: 'Delete a webhook and its deliveries', response: { 204: null } },
    async (ctx) => {
      await deleteOwned(ctx, webhookKind, ownerOf(ctx.params), ctx.params.webhookId);
      return ctx.json(null, 204);
    },
  )
  .post(
    `${path}/:webhookId/test`,
    { ...needed, tags, summary: 'Send the event `ping`', response: { 202: Type.Object({ deliveryId: Id }) } },
    async (ctx) => {
      const { id: organizationId, webhookId } = ctx.params;
      const owner = ownerOf(ctx.params);
      const deliveryId = newId('webhookDelivery');
      await ctx.env.sql.begin(async (tx) => {
        await lockOwned(tx, webhookKind, owner, webhookId);
        const createdAt = new Date().toISOString();
        const body = { type: 'ping', createdAt, organizationId, projectId: null, data: {} };
        await tx`
          INSERT INTO control.webhook_delivery (id, webhook_id, event, body, due_at)
          VALUES (${deliveryId}, ${webhookId}, 'ping', ${tx.json(body)}, now())`;
        await tx`SELECT pg_notify('control_webhook', '')`;
        await ctx.state.audit(tx, entryOf(webhookKind, owner, webhookId, 'test'));
      });
      return ctx.json({ deliveryId }, 202);
    },
  )
  .get(
    `${path}/:webhookId/deliveries`,
    {
      ...needed,
      tags,
      summary: 'List deliveries of the last thirty days, newest first',
      query: Type.Object(pageQuery),
      response: pageOf(Delivery),
    },
    async (ctx) => {
      const { id: organizationId, webhookId } = ctx.params;
      const { sql } = ctx.env;
      const [webhook] = await sql`
        SELECT 1 FROM control.webhook WHERE id = ${webhookId} AND organization_id = ${organizationId}`;
      if (webhook === undefined) throw new ApiError('not_found');
      const page = readTimePage(ctx.query);
      const rows = await sql<DeliveryRow[]>`
        SELECT *, ${timestampOfColumn(sql, 'created_at')} AS position FROM control.webhook_delivery
        WHERE webhook_id = ${webhookId} ${newestFirst(sql, page)}`;
      return toTimePage(rows, page, toDelivery);
    },
  )
  .post(
    `${path}/:webhookId/deliveries/:deliveryId/redeliver`,
    { ...needed, tags, summary: 'Resend a delivery under its id', response: { 202: Delivery } },
    async (ctx) => {
      const { webhookId, deliveryId } = ctx.params;
      const owner = ownerOf(ctx.params);
      const row = await ctx.env.sql.begin(async (tx) => {
        await lockOwned(tx, webhookKind, owner, webhookId);
        const [again] = await tx<DeliveryRow[]>`
          UPDATE control.webhook_delivery
          SET attempt = 0, due_at = now(), lease_until = NULL, status = NULL, error = NULL, delivered_at = NULL
          WHERE id = ${deliveryId} AND webhook_id = ${webhookId} RETURNING *`;
        if (again === undefined) throw new ApiError('not_found');
        await tx`SELECT pg_notify('control_webhook', '')`;
        await ctx.state.audit(tx, entryOf(webhookKind, owner, webhookId, 'redeliver', { deliveryId }));
        return again;
      });
      return ctx.json(toDelivery(row), 202);
    },
  );
