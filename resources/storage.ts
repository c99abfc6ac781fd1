// State, files and caches of a project. Downloads stream in parts and uploads go through a temporary file, so file size
// does not affect memory.
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import Type from '#core/typebox/typebox.mjs';
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
  type ResourceAccess,
  type ResourceState,
} from './access.ts';
import { toAttachment, toWebStream } from './streamed.ts';

const PAGE_MAX = 1000;
const VALUE_BODY_BYTES_MAX = 40_000_000;
const PART_BYTES = 4 * 1024 * 1024;
/** Maximum size of a written file. */
const FILE_BYTES_MAX = 5 * 1024 * 1024 * 1024;
const FILE_MS_MAX = 120_000;

const params = Type.Object({ id: Type.String(), binding: BindingName });
const StateKey = Type.String({ minLength: 1, maxLength: 512 });
const FileKey = Type.String({ minLength: 1, maxLength: 1024 });
const entry = Type.Object({ ...branchQuery, key: StateKey });
const file = Type.Object({ ...branchQuery, key: FileKey });
const page = {
  cursor: Type.Optional(Type.String({ maxLength: 4000 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: PAGE_MAX, default: 100 })),
};
const StoredFile = Type.Object({
  key: Type.String(),
  size: Type.Number(),
  etag: Type.String(),
  uploadedAt: Type.Number({ description: 'Milliseconds since 1970' }),
  contentType: Type.Optional(Type.String()),
});

export const state = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/state/:binding',
    {
      ...reads,
      summary: 'List the keys of a state, by prefix',
      params,
      query: Type.Object({ ...branchQuery, prefix: Type.Optional(Type.String({ maxLength: 512 })), ...page }),
      response: Type.Object({
        items: Type.Array(Type.Object({ key: Type.String(), expiresAt: NullableNumber, metadata: Type.Unknown() })),
        nextCursor: NullableText,
      }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      const { keys, cursor } = await ctx.state.resources.ask('state.list', { project, branch, binding, args });
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
      ...reads,
      summary: 'Read an entry; text is in value, bytes are in base64',
      params,
      query: entry,
      response: Type.Object({
        key: Type.String(),
        value: Type.Optional(Type.String()),
        base64: Type.Optional(Type.String()),
        metadata: Type.Unknown(),
        version: Type.String({ description: 'Changes with every write' }),
        expiresAt: NullableNumber,
      }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      const found = await ctx.state.resources.ask('state.get', { project, branch, binding, args: { key } });
      if (found.entry === null) throw ctx.state.resources.refuse('not_found', 'No such entry');
      return found.entry;
    },
  )
  .put(
    '/projects/:id/state/:binding/entry',
    {
      ...writes,
      summary:
        'Write an entry; with a version, only if the entry still has it; with version null, only if there is no entry',
      params,
      query: entry,
      body: Type.Object({
        value: Type.Optional(Type.String()),
        base64: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9+/]*={0,2}$' })),
        metadata: Type.Optional(Type.Unknown()),
        expirationTtl: Type.Optional(Type.Integer({ minimum: 1 })),
        version: Type.Optional(NullableText),
      }),
      bodyLimit: VALUE_BODY_BYTES_MAX,
      response: Done,
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      const { resources } = ctx.state;
      if ((ctx.body.value === undefined) === (ctx.body.base64 === undefined))
        throw resources.refuse('bad_request', 'body: send value (a text) or base64 (bytes)');
      const args = { key, ...ctx.body };
      const { written } = await resources.ask('state.put', { project, branch, binding, args });
      if (!written)
        throw resources.refuse(
          'conflict',
          'The entry was changed in the meantime: read it again before you overwrite it',
        );
      return done();
    },
  )
  .delete(
    '/projects/:id/state/:binding/entry',
    { ...writes, summary: 'Delete an entry', params, query: entry, response: Done },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      await ctx.state.resources.ask('state.delete', { project, branch, binding, args: { key } });
      return done();
    },
  );

export const files = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/files/:binding',
    {
      ...reads,
      summary: 'List files, with a delimiter also folders',
      params,
      query: Type.Object({
        ...branchQuery,
        prefix: Type.Optional(Type.String({ maxLength: 1024 })),
        delimiter: Type.Optional(Type.String({ maxLength: 16 })),
        ...page,
      }),
      response: Type.Object({
        items: Type.Array(StoredFile),
        folders: Type.Array(Type.String()),
        nextCursor: NullableText,
      }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      const found = await ctx.state.resources.ask('fs.list', { project, branch, binding, args });
      return { items: [...found.files], folders: [...found.prefixes], nextCursor: found.cursor };
    },
  )
  .get(
    '/projects/:id/files/:binding/content',
    { ...reads, summary: 'Read a file', params, query: file },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      const { resources } = ctx.state;
      const part = async (offset: number) => {
        const args = { key, offset, length: PART_BYTES };
        return (await resources.ask('fs.get', { project, branch, binding, args })).file;
      };
      const first = await part(0);
      if (first === null) throw resources.refuse('not_found', 'No such file');
      return new Response(toWebStream(contentOf(first, part)), {
        headers: {
          ...toAttachment(key),
          'content-length': String(first.size),
          'x-file-type': (first.contentType ?? '').replace(/[^\x20-\x7e]/g, ''),
        },
      });
    },
  )
  .put(
    '/projects/:id/files/:binding/content',
    {
      ...writes,
      summary: 'Write a file; the body is its content, Content-Type its type',
      params,
      query: file,
      response: StoredFile,
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      const { resources } = ctx.state;
      const type = ctx.req.headers.get('content-type');
      const target = path.join(resources.transit, `${randomUUID()}.upload`);
      try {
        await receive(ctx.req.body, target, resources);
        const args = { key, file: target, ...(type !== null && { contentType: type.slice(0, 255) }) };
        const question = { project, branch, binding, args, waitMs: FILE_MS_MAX };
        return (await resources.ask('fs.put', question)).file;
      } finally {
        await rm(target, { force: true });
      }
    },
  )
  .delete(
    '/projects/:id/files/:binding/content',
    { ...writes, summary: 'Delete a file', params, query: file, response: Done },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      await ctx.state.resources.ask('fs.delete', { project, branch, binding, args: { keys: [key] } });
      return done();
    },
  );

export const caches = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/caches/:binding',
    {
      ...reads,
      summary: 'List the entries of a cache (only in `platform dev`)',
      params,
      query: Type.Object({ ...branchQuery, limit: page.limit }),
      response: Type.Object({
        items: Type.Array(Type.Object({ key: Type.String(), bytes: Type.Number(), expiresAt: Type.Number() })),
      }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, ...args } = ctx.query;
      return { items: [...(await ctx.state.resources.ask('cache.list', { project, branch, binding, args })).entries] };
    },
  )
  .get(
    '/projects/:id/caches/:binding/entry',
    {
      ...reads,
      summary: 'Read an entry of a cache',
      params,
      query: entry,
      response: Type.Object({ key: Type.String(), value: Type.String() }),
    },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      const { value } = await ctx.state.resources.ask('cache.get', { project, branch, binding, args: { key } });
      if (value === null) throw ctx.state.resources.refuse('not_found', 'No such entry');
      return { key, value };
    },
  )
  .delete(
    '/projects/:id/caches/:binding/entry',
    { ...writes, summary: 'Delete an entry of a cache', params, query: entry, response: Done },
    async (ctx) => {
      const { id: project, binding } = ctx.params;
      const { branch, key } = ctx.query;
      await ctx.state.resources.ask('cache.delete', { project, branch, binding, args: { key } });
      return done();
    },
  );

interface Part {
  readonly base64: string;
  readonly size: number;
  readonly etag: string;
}

/** @throws {Error} if the file is replaced during the download: the result would mix two files. */
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

/** Writes a body to a file. @throws the error of `refuse` if the body is too large. */
async function receive(
  body: AsyncIterable<Uint8Array> | null,
  target: string,
  { refuse }: ResourceAccess,
): Promise<void> {
  let bytes = 0;
  const counted = new Transform({
    transform(chunk: Uint8Array, _encoding, next) {
      bytes += chunk.byteLength;
      if (bytes > FILE_BYTES_MAX) next(refuse('payload_too_large', String(FILE_BYTES_MAX)));
      else next(null, chunk);
    },
  });
  await pipeline(Readable.from(body ?? [], { objectMode: false }), counted, createWriteStream(target, { mode: 0o600 }));
}
