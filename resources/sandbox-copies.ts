// Snapshots and forks of sandboxes, from outside a worker: create, list, delete, fork.
import { Readable } from 'node:stream';
import Type from '#core/typebox/typebox.mjs';
import type { SandboxSnapshot } from '#core/sandbox/operations.ts';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchOnly,
  branchQuery,
  Done,
  NullableText,
  reads,
  writes,
  type ResourceState,
} from './access.ts';
import { ask, end, Moment, ofBinding, ofOne, page, Sandbox } from './sandbox-asking.ts';
import { toJson } from './sandbox-calls.ts';

/** The empty body of calls that take no bytes. */
const NO_BYTES: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => Readable.from([])[Symbol.asyncIterator]() };

const Snapshot = Type.Object({
  id: Type.String(),
  of: Type.String({ description: 'The sandbox of the snapshot' }),
  createdAt: Moment,
  sizeBytes: Type.Number({ description: 'Size on disk' }),
});

export const sandboxCopies = platform<unknown, ResourceState>()
  .post(
    '/projects/:id/sandboxes/:binding/:sandbox/snapshot',
    {
      ...writes,
      summary: 'Save the files of a sandbox in a snapshot; its processes are paused meanwhile',
      params: ofOne,
      query: Type.Object({ ...branchQuery, snapshot: Type.Optional(Sandbox) }),
      response: Snapshot,
    },
    async (ctx) => {
      const { snapshot: id } = ctx.query;
      const { sandbox } = ctx.params;
      const answer = await ask(ctx, { operation: 'snapshot', sandbox, args: { id }, bytes: NO_BYTES });
      return (await toJson(answer)) as SandboxSnapshot;
    },
  )
  .post(
    '/projects/:id/sandboxes/:binding/:sandbox/fork',
    {
      ...writes,
      summary: 'Fork a sandbox: create another one with its current files and options',
      params: ofOne,
      query: Type.Object({ ...branchQuery, to: Sandbox }),
      response: Done,
    },
    async (ctx) => {
      const { sandbox } = ctx.params;
      return end(await ask(ctx, { operation: 'fork', sandbox, args: { id: ctx.query.to }, bytes: NO_BYTES }));
    },
  )
  .get(
    '/projects/:id/sandbox-snapshots/:binding',
    {
      ...reads,
      summary: 'List the snapshots of a binding, by id',
      params: ofBinding,
      query: page,
      response: Type.Object({ items: Type.Array(Snapshot), nextCursor: NullableText }),
    },
    async (ctx) => {
      const { prefix = '', cursor = '', limit = 100 } = ctx.query;
      const answer = await ask(ctx, { operation: 'listSnapshots', args: { prefix, cursor, limit } });
      const { items, cursor: next } = (await toJson(answer)) as { items: SandboxSnapshot[]; cursor: string | null };
      return { items, nextCursor: next };
    },
  )
  .delete(
    '/projects/:id/sandbox-snapshots/:binding/:snapshot',
    {
      ...writes,
      summary: 'Delete a snapshot; sandboxes created from it are kept',
      params: Type.Object({ id: Type.String(), binding: BindingName, snapshot: Sandbox }),
      query: branchOnly,
      response: Done,
    },
    async (ctx) => end(await ask(ctx, { operation: 'deleteSnapshot', sandbox: ctx.params.snapshot })),
  );
