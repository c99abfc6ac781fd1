// Imports of files into a database. Clients upload a file in pieces to the data folder; then the database service
// imports it. Only the database service parses the file.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readdir, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import {
  BindingName,
  branchOnly,
  branchQuery,
  done,
  Done,
  NullableText,
  writes,
  type ResourceAccess,
  type ResourceState,
} from './access.ts';
import { ofDatabase } from './database-asking.ts';
import { projectPrefix, removeAbandoned } from './transit-files.ts';

const PIECE_BYTES_MAX = 8 * 1024 * 1024;
/** Maximum number of unfinished uploads per project. */
const OPEN_MAX = 4;

const GONE = 'No such import, or it has ended';

const ofImport = Type.Object({
  id: Type.String(),
  database: BindingName,
  import: Type.String({ pattern: '^[0-9a-f-]{36}$' }),
});
const Progress = Type.Object({
  state: Type.Union(
    ['unknown', 'running', 'done', 'failed'].map((state) => Type.Literal(state)),
    { description: 'unknown: it was never started, or the database service has restarted since' },
  ),
  statements: Type.Number(),
  part: Type.Number({ description: 'Approximate, from 0 to 1' }),
  reason: NullableText,
  leftOut: Type.Array(Type.String(), {
    description: 'Data that was not imported, such as waiting messages of a queue',
  }),
});

/** Identifies an import. */
interface Place {
  readonly project: string;
  readonly branch: string | undefined;
  readonly binding: string;
  readonly id: string;
}

export const databaseImports = platform<unknown, ResourceState>()
  .post(
    '/projects/:id/databases/:database/imports',
    {
      ...writes,
      summary: 'Start the upload of an SQL or SQLite file to import',
      params: ofDatabase,
      query: branchOnly,
      response: {
        201: Type.Object({
          id: Type.String(),
          pieceBytesMax: Type.Number({ description: 'Maximum body size of one PUT' }),
          bytesMax: Type.Number({ description: 'Maximum size of the file (DB_MAX_IMPORT_BYTES)' }),
        }),
      },
    },
    async (ctx) => {
      const { resources } = ctx.state;
      const place = { ...placeOf(ctx), id: randomUUID() };
      await resources.ask('db.import-state', questionOf(place));
      const file = fileOf(resources, place);
      const folder = path.dirname(file);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const mine = projectPrefix(place.project);
      const names = await removeAbandoned(folder);
      if (names.filter((name) => name.startsWith(mine)).length >= OPEN_MAX)
        throw resources.refuse(
          'conflict',
          `Limit of open imports reached: ${OPEN_MAX} per project. Finish one, or wait until one expires`,
        );
      await (await open(file, 'wx', 0o600)).close();
      const { importBytesMax } = resources.importLimits;
      return ctx.json({ id: place.id, pieceBytesMax: PIECE_BYTES_MAX, bytesMax: importBytesMax }, 201);
    },
  )
  .put(
    '/projects/:id/databases/:database/imports/:import',
    {
      ...writes,
      summary: 'Upload a part of the file: the body is its bytes from `offset` on',
      params: ofImport,
      query: Type.Object({ ...branchQuery, offset: Type.Integer({ minimum: 0 }) }),
      response: Type.Object({ bytes: Type.Number({ description: 'Received so far' }) }),
    },
    async (ctx) => {
      const { resources } = ctx.state;
      const place = { ...placeOf(ctx), id: ctx.params.import };
      const { state } = await resources.ask('db.import-state', questionOf(place));
      if (state !== 'unknown') throw resources.refuse('conflict', 'The import has started: its file is complete');
      const { offset } = ctx.query;
      const file = fileOf(resources, place);
      return { bytes: await receive(ctx.req.body, file, offset, resources) };
    },
  )
  .post(
    '/projects/:id/databases/:database/imports/:import/run',
    {
      ...writes,
      summary: 'Import the uploaded file, all or nothing; a repeated request returns the progress',
      params: ofImport,
      query: branchOnly,
      body: Type.Object({
        bytes: Type.Integer({ minimum: 0, description: 'Size of the whole file' }),
        replace: Type.Optional(Type.Boolean({ description: 'Deletes the current data first' })),
      }),
      response: Progress,
    },
    async (ctx) => {
      const { resources } = ctx.state;
      const place = { ...placeOf(ctx), id: ctx.params.import };
      const file = fileOf(resources, place);
      const { bytes, replace } = ctx.body;
      const found = await stat(file).catch(() => null);
      if (found === null) {
        // The import may have finished without the client receiving the response.
        const known = await resources.ask('db.import-state', questionOf(place));
        if (known.state === 'unknown') throw resources.refuse('not_found', GONE);
        return followed(resources, place, known);
      }
      if (found.size !== bytes)
        throw resources.refuse('bad_request', `The file is incomplete: ${found.size} of ${bytes} bytes`);
      return followed(
        resources,
        place,
        await resources.ask('db.import', questionOf(place, { file, ...(replace === true && { replace }) })),
      );
    },
  )
  .get(
    '/projects/:id/databases/:database/imports/:import',
    {
      ...writes,
      summary: 'Read the progress of an import; waits up to a second for its end',
      params: ofImport,
      query: branchOnly,
      response: Progress,
    },
    async (ctx) => {
      const { resources } = ctx.state;
      const place = { ...placeOf(ctx), id: ctx.params.import };
      return followed(resources, place, await resources.ask('db.import-state', questionOf(place, { wait: true })));
    },
  )
  .delete(
    '/projects/:id/databases/:database/imports/:import',
    {
      ...writes,
      summary: 'Cancel an import and delete the uploaded file; the database is unchanged',
      params: ofImport,
      query: branchOnly,
      response: Done,
    },
    async (ctx) => {
      const { resources } = ctx.state;
      const place = { ...placeOf(ctx), id: ctx.params.import };
      await resources.ask('db.import-state', questionOf(place, { cancel: true }));
      await rm(fileOf(resources, place), { force: true });
      return done();
    },
  );

function placeOf({
  params: { id, database },
  query: { branch },
}: {
  readonly params: { readonly id: string; readonly database: string };
  readonly query: { readonly branch?: string | undefined };
}): Omit<Place, 'id'> {
  return { project: id, branch, binding: database };
}

function questionOf<Args extends object>({ project, branch, binding, id }: Place, args?: Args) {
  return { project, branch, binding, args: { id, ...(args as Args) } };
}

/** Returns the state of an import. Deletes the import's file once the import is finished. */
async function followed<State extends { readonly state: string; readonly leftOut: readonly string[] }>(
  resources: ResourceAccess,
  place: Place,
  state: State,
): Promise<Omit<State, 'leftOut'> & { leftOut: string[] }> {
  if (state.state === 'done' || state.state === 'failed') await rm(fileOf(resources, place), { force: true });
  return { ...state, leftOut: [...state.leftOut] };
}

/** The name is a hash of all ids that were checked for access, so it cannot point to another project's file. */
function fileOf({ transit }: ResourceAccess, { project, branch, binding, id }: Place): string {
  const all = createHash('sha256').update(JSON.stringify([project, branch ?? null, binding, id]));
  return path.join(transit, 'imports', `${projectPrefix(project)}${all.digest('hex').slice(0, 40)}`);
}

async function sizeOf(file: string, { refuse }: ResourceAccess): Promise<number> {
  const found = await stat(file).catch(() => null);
  if (found === null) throw refuse('not_found', GONE);
  return found.size;
}

/** Total size of the project's other uploads, in bytes. */
async function sizeOfOthers(file: string): Promise<number> {
  const [folder, own] = [path.dirname(file), path.basename(file)];
  const mine = own.slice(0, own.indexOf('-') + 1);
  const names = (await readdir(folder)).filter((name) => name.startsWith(mine) && name !== own);
  const sizes = await Promise.all(
    names.map(async (name) => (await stat(path.join(folder, name)).catch(() => null))?.size ?? 0),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** Appends a piece. A piece that was sent before is overwritten. @returns the new size. */
async function receive(
  body: AsyncIterable<Uint8Array> | null,
  file: string,
  offset: number,
  access: ResourceAccess,
): Promise<number> {
  const { refuse, importLimits } = access;
  const { importBytesMax, diskFreeBytesMin } = importLimits;
  const size = await sizeOf(file, access);
  if (offset > size) throw refuse('conflict', `The file has ${size} bytes: continue at offset ${size}`);
  // The limit for one upload also applies to all uploads of a project together.
  const bytesMax = importBytesMax - (await sizeOfOthers(file));
  const { bavail, bsize } = await statfs(file);
  if (bavail * bsize < PIECE_BYTES_MAX + diskFreeBytesMin)
    throw refuse('conflict', 'The disk of the platform has no space for this file');
  const handle = await open(file, 'r+');
  try {
    await handle.truncate(offset);
    let bytes = offset;
    for await (const chunk of body ?? []) {
      if (bytes + chunk.byteLength - offset > PIECE_BYTES_MAX)
        throw refuse('payload_too_large', String(PIECE_BYTES_MAX));
      if (bytes + chunk.byteLength > bytesMax) throw refuse('payload_too_large', String(importBytesMax));
      for (let at = 0; at < chunk.byteLength;)
        at += (await handle.write(chunk, at, chunk.byteLength - at, bytes + at)).bytesWritten;
      bytes += chunk.byteLength;
    }
    return bytes;
  } finally {
    await handle.close();
  }
}
