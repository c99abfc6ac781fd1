// State of a project: entries by key.
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import type { Parts } from '../../parts.ts';
import type { RequestState } from '../app.ts';
import { ApiError } from '../errors.ts';
import { needs } from '../needs.ts';
import { BindingName, branchQuery, callResource } from '../resource-calls.ts';

const PAGE_MAX = 1000;
const BODY_BYTES_MAX = 40_000_000;

const params = Type.Object({ id: Type.String(), binding: BindingName });
const Key = Type.String({ minLength: 1, maxLength: 512 });
const one = Type.Object({ ...branchQuery, key: Key });
const Nullable = <S extends Parameters<typeof Type.Array>[0]>(schema: S) => Type.Union([schema, Type.Null()]);

export const state = platform<Parts, RequestState>()
  .get(
    '/projects/:id/state/:binding',
    {
      ...needs('data:read', 'project'),
      summary: 'List the keys of a state, by prefix',
      params,
      query: Type.Object({
        ...branchQuery,
        prefix: Type.Optional(Type.String({ maxLength: 512 })),
        cursor: Type.Optional(Type.String({ maxLength: 2000 })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: 100 })),
      }),
      response: Type.Object({
        items: Type.Array(
          Type.Object({ key: Type.String(), expiresAt: Nullable(Type.Number()), metadata: Type.Unknown() }),
        ),
        nextCursor: Nullable(Type.String()),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const { branch, ...args } = ctx.query;
      const { keys, cursor } = await callResource(ctx.env, 'state.list', {
        projectId,
        branch,
        binding: ctx.params.binding,
        args,
      });
      const items = keys.map(({ name, expiresAt, metadata }) => ({
        key: name,
        expiresAt,
        metadata: metadata === null ? null : (JSON.parse(metadata) as unknown),
      }));
      return { items, nextCursor: cursor };
    },
  )
  .get(
    '/projects/:id/state/:binding/entry',
    {
      ...needs('data:read', 'project'),
      summary: 'Read an entry; text is in value, bytes are in base64',
      params,
      query: one,
      response: Type.Object({
        key: Type.String(),
        value: Type.Optional(Type.String()),
        base64: Type.Optional(Type.String()),
        metadata: Type.Unknown(),
        expiresAt: Nullable(Type.Number()),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const { branch, key } = ctx.query;
      const question = { projectId, branch, binding: ctx.params.binding, args: { key } };
      const { entry } = await callResource(ctx.env, 'state.get', question);
      if (entry === null) throw new ApiError('not_found');
      return entry;
    },
  )
  .put(
    '/projects/:id/state/:binding/entry',
    {
      ...needs('data:write', 'project'),
      summary: 'Write an entry',
      params,
      query: one,
      body: Type.Object({
        value: Type.Optional(Type.String()),
        base64: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$' })),
        metadata: Type.Optional(Type.Unknown()),
        expirationTtl: Type.Optional(Type.Integer({ minimum: 1 })),
      }),
      bodyLimit: BODY_BYTES_MAX,
      response: { 204: null },
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const { branch, key } = ctx.query;
      if ((ctx.body.value === undefined) === (ctx.body.base64 === undefined))
        throw new ApiError('bad_request', { reason: 'body: give value, a text, or base64, bytes' });
      const args = { key, ...ctx.body };
      await callResource(ctx.env, 'state.put', { projectId, branch, binding: ctx.params.binding, args });
      return new Response(null, { status: 204 });
    },
  )
  .delete(
    '/projects/:id/state/:binding/entry',
    { ...needs('data:write', 'project'), summary: 'Delete an entry', params, query: one, response: { 204: null } },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const { branch, key } = ctx.query;
      await callResource(ctx.env, 'state.delete', { projectId, branch, binding: ctx.params.binding, args: { key } });
      return new Response(null, { status: 204 });
    },
  );
