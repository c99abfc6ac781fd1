// The OTLP collector of a project, which receives its spans in addition to the operator's. Header values are encrypted
// and never shown.
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { nullable, Timestamp } from '../../http/schemas.ts';
import { viewOf } from '../../http/view.ts';
import { checkHeaders, HeadersSchema } from '../../outbound/headers.ts';
import { collectorKind, sealSecret } from '../../outbound/subscription.ts';
import { AllowPrivate, checkTargetUrl } from '../../outbound/target-url.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { needs } from '../request/needs.ts';
import { deleteOwned, entryOf, listOwned } from './owned-rows.ts';

const path = '/projects/:id/collector';
const tags = ['traces'];

const Collector = Type.Object({
  url: Type.String(),
  headers: Type.Array(Type.String({ description: 'Names only' })),
  allowPrivate: Type.Boolean(),
  createdAt: Timestamp,
  sent: Type.Integer({ description: 'Spans since the collector was set' }),
  dropped: Type.Integer({ description: 'Spans that the collector did not accept in time' }),
  sentAt: nullable(Timestamp),
  error: nullable(Type.String({ description: 'Why spans were last dropped' })),
  errorAt: nullable(Timestamp),
});

interface Row {
  readonly header_names: string[];
  readonly is_private: boolean;
}

const toCollector = viewOf(Collector, {
  headers: (row: Row) => row.header_names,
  allowPrivate: (row: Row) => row.is_private,
});

export const collector = platform<Dependencies, RequestState>()
  .get(
    path,
    {
      ...needs('log:read', 'project'),
      tags,
      summary: 'Read the collector of a project and its delivery counts',
      response: Type.Object({ collector: nullable(Collector) }),
    },
    async (ctx) => {
      const owner = await ctx.state.access.project('log:read', ctx.params.id);
      const [row] = await listOwned<Row>(ctx.env.sql, collectorKind, owner);
      return { collector: row === undefined ? null : toCollector(row) };
    },
  )
  .put(
    path,
    {
      ...needs('webhook:write', 'project', ['operator']),
      tags,
      summary: 'Send the spans of a project to a collector by OTLP (JSON over HTTP)',
      description: 'Replaces the current setting with its headers. Values of headers are never returned.',
      body: Type.Object(
        {
          url: Type.String({ maxLength: 2048, description: 'Full URL, such as `https://otel.example.com/v1/traces`' }),
          headers: Type.Optional(HeadersSchema),
          allowPrivate: AllowPrivate,
        },
        { additionalProperties: false },
      ),
      response: Collector,
    },
    async (ctx) => {
      const owner = await ctx.state.access.project('webhook:write', ctx.params.id);
      const { projectId } = owner;
      const { url, headers: given = {}, allowPrivate = false } = ctx.body;
      if (allowPrivate) ctx.state.access.operator();
      checkTargetUrl('body.url', url, allowPrivate);
      checkHeaders('body.headers', given);
      const headers = Object.fromEntries(Object.entries(given).map(([name, value]) => [name.toLowerCase(), value]));
      const { sql, keys } = ctx.env;
      const sealed = sealSecret(keys, collectorKind, projectId, JSON.stringify(headers));
      return sql.begin(async (tx) => {
        const names = Object.keys(headers);
        const [row] = await tx<Row[]>`
          INSERT INTO control.collector (project_id, url, headers, header_names, is_private)
          VALUES (${projectId}, ${url}, ${sealed}, ${names}, ${allowPrivate})
          ON CONFLICT (project_id) DO UPDATE SET url = excluded.url, headers = excluded.headers,
            header_names = excluded.header_names, is_private = excluded.is_private, created_at = clock_timestamp(),
            sent = 0, dropped = 0, sent_at = NULL, error = NULL, error_at = NULL
          RETURNING *`;
        await tx`SELECT pg_notify('control_collector', ${projectId})`;
        const details = { host: new URL(url).host, headers: names };
        await ctx.state.audit(tx, entryOf(collectorKind, owner, projectId, 'set', details));
        return toCollector(row!);
      });
    },
  )
  .delete(
    path,
    {
      ...needs('webhook:write', 'project'),
      tags,
      summary: 'Remove the span collector of a project',
      response: { 204: null },
    },
    async (ctx) => {
      const owner = await ctx.state.access.project('webhook:write', ctx.params.id);
      await deleteOwned(
        ctx,
        collectorKind,
        owner,
        owner.projectId,
        (tx) => tx`SELECT pg_notify('control_collector', ${owner.projectId})`,
      );
      return ctx.json(null, 204);
    },
  );
