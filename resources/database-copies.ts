// Routes for copies of a database: creating, downloading and restoring them, and restoring a point in time.
import { open, rm } from 'node:fs/promises';
import path from 'node:path';
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { parseMoment } from '#core/moment.ts';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchOnly,
  done,
  Done,
  reads,
  writes,
  type ResourceAccess,
  type ResourceState,
} from './access.ts';
import { ask, ofDatabase, WHOLE_MS_MAX } from './database-asking.ts';
import { projectPrefix, removeAbandoned } from './transit-files.ts';

const Copy = Type.Object({
  name: Type.String(),
  bytes: Type.Number(),
  madeAt: Type.Number({ description: 'Milliseconds since 1970' }),
});
const ofCopy = Type.Object({ id: Type.String(), database: BindingName, copy: Type.String({ maxLength: 64 }) });

/** Maximum number of exports per project that are written or downloaded. */
const EXPORTS_MAX = 2;

export const databaseCopies = platform<unknown, ResourceState>()
  .get(
    '/projects/:id/databases/:database/export',
    {
      ...reads,
      summary: 'Download a consistent copy of the database, as a SQLite file',
      params: ofDatabase,
      query: branchOnly,
    },
    async (ctx) => {
      const place = await placeOfExport(ctx.params.id, ctx.state.resources);
      try {
        const file = `${place}.sqlite`;
        const { bytes } = await ask(ctx, 'db.copy', { file }, WHOLE_MS_MAX);
        const copy = await open(file);
        // The open file can still be read, and its space is freed when it is closed or this process exits.
        await rm(file, { force: true });
        const content = copy.createReadStream().once('close', () => void rm(place, { force: true }));
        return new Response(Readable.toWeb(content) as ReadableStream, {
          headers: {
            'content-type': 'application/vnd.sqlite3',
            'content-length': String(bytes),
            'content-disposition': 'attachment; filename="database.sqlite"',
          },
        });
      } catch (error) {
        await rm(place, { force: true });
        throw error;
      }
    },
  )
  .get(
    '/projects/:id/databases/:database/copies',
    {
      ...reads,
      summary: 'List the copies of the production database, newest first, and its size',
      params: ofDatabase,
      query: branchOnly,
      response: Type.Object({
        items: Type.Array(Copy),
        bytes: Type.Number({ description: 'Size of the database itself' }),
        copiesMax: Type.Number({
          description: 'Maximum number of copies (DB_SNAPSHOTS_MAX); a new copy replaces the oldest',
        }),
      }),
    },
    async (ctx) => {
      const { copies, bytes, copiesMax } = await ask(ctx, 'db.copies', {});
      return { items: [...copies], bytes, copiesMax };
    },
  )
  .post(
    '/projects/:id/databases/:database/copies',
    {
      ...writes,
      summary: 'Create a copy of the production database',
      params: ofDatabase,
      query: branchOnly,
      response: { 201: Type.Object({ copy: Copy, dropped: Type.Array(Type.String()) }) },
    },
    async (ctx) => {
      const { copy, dropped } = await ask(ctx, 'db.make-copy', {}, WHOLE_MS_MAX);
      return ctx.json({ copy, dropped: [...dropped] }, 201);
    },
  )
  .post(
    '/projects/:id/databases/:database/copies/:copy/restore',
    {
      ...writes,
      summary: 'Restore the database from a copy; the current data becomes a copy',
      params: ofCopy,
      query: branchOnly,
      response: Type.Object({ before: Type.String({ description: 'Copy of the data that was replaced' }) }),
    },
    async (ctx) => ask(ctx, 'db.restore', { name: ctx.params.copy }, WHOLE_MS_MAX),
  )
  .get(
    '/projects/:id/databases/:database/moments',
    {
      ...reads,
      summary: 'Show the period to which the production database can be restored',
      params: ofDatabase,
      query: branchOnly,
      response: Type.Object({
        oldest: Type.Union([Type.String({ description: 'RFC 3339' }), Type.Null()]),
        newest: Type.Union([Type.String({ description: 'Time of the newest change' }), Type.Null()]),
        reason: Type.Union([Type.String({ description: 'Reason if no point in time can be restored' }), Type.Null()]),
      }),
    },
    async (ctx) => {
      const { range, reason } = await ask(ctx, 'db.moments', {});
      if (range === null) return { oldest: null, newest: null, reason: reason ?? 'the database has no replica yet' };
      return {
        oldest: new Date(range.oldest).toISOString(),
        newest: new Date(range.newest).toISOString(),
        reason: null,
      };
    },
  )
  .post(
    '/projects/:id/databases/:database/restore',
    {
      ...writes,
      summary: 'Restore the production database to a point in time, into a copy or in place',
      params: ofDatabase,
      query: branchOnly,
      body: Type.Object({
        at: Type.String({ maxLength: 40, description: 'RFC 3339, such as 2026-11-28T12:00:00Z' }),
        inPlace: Type.Optional(
          Type.Boolean({ description: 'Also replaces the database; the current data becomes a copy', default: false }),
        ),
      }),
      response: {
        201: Type.Object({
          copy: Copy,
          changedAt: Type.String({ description: 'Time of the latest change in the copy, RFC 3339' }),
          before: Type.Union([Type.String({ description: 'Copy of the data that was replaced' }), Type.Null()]),
        }),
      },
    },
    async (ctx) => {
      const at = parseMoment(ctx.body.at);
      if (at === null)
        throw ctx.state.resources.refuse(
          'bad_request',
          `at must be a time such as 2026-11-28T12:00:00Z, but is "${ctx.body.at}"`,
        );
      const args = { at, inPlace: ctx.body.inPlace };
      const { copy, changedAt, before } = await ask(ctx, 'db.restore-at', args, WHOLE_MS_MAX);
      return ctx.json({ copy, changedAt: new Date(changedAt).toISOString(), before }, 201);
    },
  )
  .delete(
    '/projects/:id/databases/:database/copies/:copy',
    { ...writes, summary: 'Delete a copy', params: ofCopy, query: branchOnly, response: Done },
    async (ctx) => {
      await ask(ctx, 'db.drop-copy', { name: ctx.params.copy });
      return done();
    },
  );

/**
 * Creates the file that counts as an export of the project until it is deleted. Copies that were completed after their
 * request had timed out count, too.
 */
async function placeOfExport(project: string, { transit, refuse }: ResourceAccess): Promise<string> {
  const mine = projectPrefix(project);
  const names = (await removeAbandoned(transit)).filter((name) => name.startsWith(mine));
  if (new Set(names.map((name) => name.split('.')[0])).size >= EXPORTS_MAX)
    throw refuse('conflict', `Limit of open exports reached: ${EXPORTS_MAX} per project. Try again when one has ended`);
  const place = path.join(transit, `${mine}${randomUUID()}`);
  await (await open(place, 'wx', 0o600)).close();
  return place;
}
