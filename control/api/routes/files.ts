// Files of a project: listed by folder, read and written as they are. A file passes in parts, so that its size is no
// question of memory.
import { ReadableStream as NodeStream } from 'node:stream/web';
import Type from 'typebox';
import { platform } from '#packages/worker/index.ts';
import type { Parts } from '../../parts.ts';
import type { RequestState } from '../app.ts';
import { ApiError } from '../errors.ts';
import { needs } from '../needs.ts';
import { BindingName, branchQuery, callResource } from '../resource-calls.ts';

/** Named by Node's own type: that of browsers, by which the dashboard checks this file, lacks `from`. */
const toStream = (parts: AsyncIterable<Uint8Array>) =>
  NodeStream.from(parts) as ReadableStream<Uint8Array<ArrayBuffer>>;

const PART_BYTES = 4 * 1024 * 1024;
/** Of a file that is written. */
const FILE_BYTES_MAX = 24 * 1024 * 1024;

const params = Type.Object({ id: Type.String(), binding: BindingName });
const Key = Type.String({ minLength: 1, maxLength: 1024 });
const one = Type.Object({ ...branchQuery, key: Key });
const File = Type.Object({
  key: Type.String(),
  size: Type.Number(),
  etag: Type.String(),
  uploadedAt: Type.Number({ description: 'Milliseconds since 1970' }),
  contentType: Type.Optional(Type.String()),
});

export const files = platform<Parts, RequestState>()
  .get(
    '/projects/:id/files/:binding',
    {
      ...needs('data:read', 'project'),
      summary: 'List files, and with a delimiter folders',
      params,
      query: Type.Object({
        ...branchQuery,
        prefix: Type.Optional(Type.String({ maxLength: 1024 })),
        delimiter: Type.Optional(Type.String({ maxLength: 16 })),
        cursor: Type.Optional(Type.String({ maxLength: 4000 })),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
      }),
      response: Type.Object({
        items: Type.Array(File),
        folders: Type.Array(Type.String()),
        nextCursor: Type.Union([Type.String(), Type.Null()]),
      }),
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const { branch, ...args } = ctx.query;
      const question = { projectId, branch, binding: ctx.params.binding, args };
      const { files: items, prefixes, cursor } = await callResource(ctx.env, 'fs.list', question);
      return { items: [...items], folders: [...prefixes], nextCursor: cursor };
    },
  )
  .get(
    '/projects/:id/files/:binding/content',
    { ...needs('data:read', 'project'), summary: 'Read a file', params, query: one },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:read', ctx.params.id);
      const { branch, key } = ctx.query;
      const part = async (offset: number) => {
        const args = { key, offset, length: PART_BYTES };
        return (await callResource(ctx.env, 'fs.get', { projectId, branch, binding: ctx.params.binding, args })).file;
      };
      const first = await part(0);
      if (first === null) throw new ApiError('not_found');
      return new Response(toStream(contentOf(first, part)), {
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(first.size),
          'content-disposition': 'attachment',
          'x-content-type-options': 'nosniff',
          'x-file-type': (first.contentType ?? '').replace(/[^\x20-\x7e]/g, ''),
        },
      });
    },
  )
  .put(
    '/projects/:id/files/:binding/content',
    {
      ...needs('data:write', 'project'),
      summary: 'Write a file; the body is its bytes, Content-Type its type',
      params,
      query: one,
      response: File,
    },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const { branch, key } = ctx.query;
      const base64 = (await bytesOf(ctx.req.body)).toString('base64');
      const type = ctx.req.headers.get('content-type');
      const args = { key, base64, ...(type !== null && { contentType: type.slice(0, 255) }) };
      const question = { projectId, branch, binding: ctx.params.binding, args };
      return (await callResource(ctx.env, 'fs.put', question)).file;
    },
  )
  .delete(
    '/projects/:id/files/:binding/content',
    { ...needs('data:write', 'project'), summary: 'Delete a file', params, query: one, response: { 204: null } },
    async (ctx) => {
      const { projectId } = await ctx.state.access.project('data:write', ctx.params.id);
      const { branch, key } = ctx.query;
      const args = { keys: [key] };
      await callResource(ctx.env, 'fs.delete', { projectId, branch, binding: ctx.params.binding, args });
      return new Response(null, { status: 204 });
    },
  );

interface Part {
  readonly base64: string;
  readonly size: number;
  readonly etag: string;
}

/** @throws {Error} when another file takes its place meanwhile: half of each would be neither. */
async function* contentOf(first: Part, next: (offset: number) => Promise<Part | null>): AsyncGenerator<Uint8Array> {
  let offset = 0;
  for (let part: Part | null = first; part !== null; part = await next(offset)) {
    if (part.etag !== first.etag) throw new Error('The file changed while it was read');
    const bytes = Buffer.from(part.base64, 'base64');
    if (bytes.length > 0) yield bytes;
    offset += bytes.length;
    if (bytes.length === 0 || offset >= first.size) return;
  }
}

/** @throws {ApiError} `payload_too_large`. */
async function bytesOf(body: AsyncIterable<Uint8Array> | null): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of body ?? []) {
    bytes += part.byteLength;
    if (bytes > FILE_BYTES_MAX) throw new ApiError('payload_too_large', { allowed: FILE_BYTES_MAX });
    parts.push(part);
  }
  return Buffer.concat(parts);
}
