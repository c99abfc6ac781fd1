// Entries: read by everybody, written by who has signed in, deleted by who wrote them. What is deleted lies in the bin,
// where a timer finds it a week later.
import { auth, HttpError, platform, rateLimit } from '@platform-run/worker';
import type { PlatformUser } from '@platform-run/types';
import { z } from 'zod';
import { greetOnce } from './welcome.ts';

const Entry = z.object({
  id: z.number(),
  author: z.string(),
  text: z.string(),
  createdAt: z.iso.datetime(),
  /** Address of its picture, good for an hour. */
  picture: z.url().nullable(),
  mine: z.boolean(),
});
const Id = z.object({ id: z.coerce.number().int().positive() });
const Page = z.object({ entries: z.array(Entry), next: z.number().nullable() });

/** A row of `entries`. */
interface Row {
  readonly id: number;
  readonly user_id: string;
  readonly author: string;
  readonly text: string;
  readonly created_at: number;
  readonly picture: string | null;
}

const pageSize = 20;
const binMs = 7 * 24 * 60 * 60 * 1000;
const pictureBytesMax = 5 * 1024 * 1024;

async function toEntry(env: PlatformEnv, row: Row, user: PlatformUser | null): Promise<z.input<typeof Entry>> {
  const picture =
    row.picture === null ? null : await env.PICTURES.createSignedUrl(row.picture, { expiresInSeconds: 3600 });
  const { id, author, text } = row;
  return {
    id,
    author,
    text,
    createdAt: new Date(row.created_at).toISOString(),
    picture,
    mine: row.user_id === user?.id,
  };
}

/** @throws 404 for an entry of somebody else too: whether it is there is nobody's business. */
async function ownEntry(
  env: PlatformEnv,
  id: number,
  user: PlatformUser,
  where: 'book' | 'bin' = 'book',
): Promise<Row> {
  const row = await env.DB.prepare(
    `SELECT * FROM entries WHERE id = ? AND user_id = ? AND deleted_at IS ${where === 'bin' ? 'NOT NULL' : 'NULL'}`,
  )
    .bind(id, user.id)
    .first<Row>();
  if (row === null) throw new HttpError(404, 'No such entry of yours');
  return row;
}

export const reading = platform<PlatformEnv>()
  .use(auth<PlatformUser, false>({ required: false }))
  .get(
    '/',
    { query: z.object({ before: z.coerce.number().int().positive().optional() }), response: Page },
    async ({ env, query, state }) => {
      const { results } = await env.DB.prepare(
        'SELECT * FROM entries WHERE deleted_at IS NULL AND id < ? ORDER BY id DESC LIMIT ?',
      )
        .bind(query.before ?? Number.MAX_SAFE_INTEGER, pageSize)
        .all<Row>();
      const next = results.length === pageSize ? (results.at(-1)?.id ?? null) : null;
      return { entries: await Promise.all(results.map((row) => toEntry(env, row, state.user))), next };
    },
  );

export const entries = platform<PlatformEnv>()
  .use(auth<PlatformUser>())
  // Counted in the state: all isolates and machines share the count.
  .use(rateLimit({ limit: 30, window: '1m', store: 'KV', name: 'entries', key: (ctx) => ctx.state.user.id }))
  .post(
    '/',
    { body: z.object({ text: z.string().trim().min(1).max(1000) }), response: { 201: Entry } },
    async (ctx) => {
      const { env, body, state } = ctx;
      const { user } = state;
      const host = ctx.vars['HOST_EMAIL'];
      // The letter belongs to the entry: both are there or neither.
      const row = await env.DB.transaction(async (tx) => {
        const written = await tx
          .prepare('INSERT INTO entries (user_id, author, text, created_at) VALUES (?, ?, ?, ?) RETURNING *')
          .bind(user.id, user.name === '' ? user.email.replace(/@.*/, '') : user.name, body.text, Date.now())
          .first<Row>();
        if (host !== undefined)
          await tx.send(env.MAIL, { to: host, subject: `${written!.author} was here`, text: body.text });
        return written!;
      });
      await greetOnce(env, user);
      return ctx.json(await toEntry(env, row, user), 201);
    },
  )
  .delete('/:id', { params: Id, response: { 204: null } }, async ({ env, params, state }) => {
    const { id } = await ownEntry(env, params.id, state.user);
    await env.DB.prepare('UPDATE entries SET deleted_at = ? WHERE id = ?').bind(Date.now(), id).run();
    await env.TRASH.set(`entry-${id}`, { afterMs: binMs }, { payload: { id } });
    return null;
  })
  .post('/:id/restore', { params: Id, response: Entry }, async ({ env, params, state }) => {
    const row = await ownEntry(env, params.id, state.user, 'bin');
    await env.TRASH.delete(`entry-${row.id}`);
    await env.DB.prepare('UPDATE entries SET deleted_at = NULL WHERE id = ?').bind(row.id).run();
    return toEntry(env, row, state.user);
  })
  .timer('TRASH', { payload: z.object({ id: z.number() }) }, async ({ env, payload }) => {
    // Restored meanwhile: nothing to do. Run twice: nothing left to do.
    const row = await env.DB.prepare('DELETE FROM entries WHERE id = ? AND deleted_at IS NOT NULL RETURNING *')
      .bind(payload.id)
      .first<Row>();
    if (row?.picture != null) await env.PICTURES.delete(row.picture);
  });

/** Pictures go from the browser to the store and back by signed addresses: no isolate carries their bytes. */
export const picturesOf = platform<PlatformEnv>()
  .use(auth<PlatformUser>())
  .post(
    '/:id/picture',
    { params: Id, response: z.object({ uploadTo: z.url(), bytesMax: z.number() }) },
    async ({ env, params, state }) => {
      const { id } = await ownEntry(env, params.id, state.user);
      const uploadTo = await env.PICTURES.createSignedUrl(keyOf(id), {
        method: 'PUT',
        expiresInSeconds: 600,
        sizeMax: pictureBytesMax,
      });
      return { uploadTo, bytesMax: pictureBytesMax };
    },
  )
  .put('/:id/picture', { params: Id, response: Entry }, async ({ env, params, state }) => {
    const row = await ownEntry(env, params.id, state.user);
    const file = await env.PICTURES.head(keyOf(row.id));
    if (file === null) throw new HttpError(409, 'There is no picture yet: send it to the address that POST gives');
    if (!/^image\/(?:png|jpeg|gif|webp|avif)$/.test(file.contentType)) {
      await env.PICTURES.delete(file.key);
      throw new HttpError(415, 'A picture is PNG, JPEG, GIF, WebP or AVIF');
    }
    await env.DB.prepare('UPDATE entries SET picture = ? WHERE id = ?').bind(file.key, row.id).run();
    return toEntry(env, { ...row, picture: file.key }, state.user);
  });

function keyOf(id: number): string {
  return `entries/${id}`;
}
