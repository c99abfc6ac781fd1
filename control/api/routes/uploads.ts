// Artifact uploads of the CLI: create, send in pieces, deploy (control/releases/uploads.ts).
import Type from '#core/typebox/typebox.mjs';
import { platform } from '#packages/worker/index.ts';
import { addToUpload, beginUpload, deployUpload, readUpload, type Upload } from '../../releases/uploads.ts';
import type { Dependencies } from '../../process/dependencies.ts';
import type { RequestState } from '../request/middleware.ts';
import { ApiError } from '../../http/errors.ts';
import { needs } from '../request/needs.ts';

const UploadBody = Type.Object({
  id: Type.String(),
  bytes: Type.Integer(),
  sha256: Type.String(),
  received: Type.Integer({ description: 'Bytes received so far: continue at this offset' }),
  expiresAt: Type.String(),
  deploymentId: Type.Union([Type.String(), Type.Null()]),
});

const toJson = ({ id, bytes, sha256, received, expiresAt, deploymentId }: Upload) => ({
  id,
  bytes,
  sha256,
  received,
  expiresAt: expiresAt.toISOString(),
  deploymentId,
});

const headersOf = ({ received, bytes }: Upload): Record<string, string> => ({
  'upload-offset': String(received),
  'upload-length': String(bytes),
});

/** The upload, if the actor may deploy its project. @throws {ApiError} `not_found` */
async function reached(env: Dependencies, access: RequestState['access'], id: string) {
  access.account('deployment:create');
  const upload = await readUpload(env, id);
  return { upload, ...(await access.project('deployment:create', upload.projectId)) };
}

export const uploads = platform<Dependencies, RequestState>()
  .post(
    '/projects/:id/uploads',
    {
      ...needs('deployment:create', 'project'),
      tags: ['deployments'],
      summary: 'Start the upload of an artifact: a tar file, plain or compressed with gzip',
      body: Type.Object({
        bytes: Type.Integer({ minimum: 1 }),
        sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'Size of the whole archive' }),
        branch: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\x00-\\x20\\x7f~^:?*[\\\\]+$' }),
        target: Type.Optional(Type.Union([Type.Literal('production'), Type.Literal('preview')])),
        commit: Type.Optional(Type.String({ pattern: '^[0-9a-f]{7,64}$' })),
        message: Type.Optional(Type.String({ maxLength: 2000 })),
      }),
      response: { 201: UploadBody },
    },
    async (ctx) => {
      const { projectId, actor } = await ctx.state.access.project('deployment:create', ctx.params.id);
      const { target = null, commit = null, message = null, ...given } = ctx.body;
      const asked = { ...given, projectId, target, commit, message };
      const upload = await beginUpload(ctx.env, asked, actor.accountId);
      return ctx.json(toJson(upload), 201, headersOf(upload));
    },
  )
  .get(
    '/uploads/:id',
    {
      ...needs('deployment:create'),
      tags: ['deployments'],
      summary: 'Read the progress of an upload; HEAD returns it as `upload-offset`',
      response: UploadBody,
    },
    async (ctx) => {
      const { upload } = await reached(ctx.env, ctx.state.access, ctx.params.id);
      return ctx.json(toJson(upload), 200, headersOf(upload));
    },
  )
  .put(
    '/uploads/:id',
    {
      ...needs('deployment:create'),
      tags: ['deployments'],
      summary: 'Upload bytes, from the offset of `Content-Range: bytes <from>-<to>/<all>`',
      response: UploadBody,
    },
    async (ctx) => {
      const { upload } = await reached(ctx.env, ctx.state.access, ctx.params.id);
      const offset = offsetOf(ctx.req.headers, upload.bytes);
      const now = await addToUpload(ctx.env, upload.id, offset, ctx.req.body);
      return ctx.json(toJson(now), 200, headersOf(now));
    },
  )
  .post(
    '/uploads/:id/deploy',
    {
      ...needs('deployment:create'),
      tags: ['deployments'],
      summary: 'Create a deployment from a completed upload',
      response: { 202: Type.Object({ deploymentId: Type.String(), artifact: Type.String() }) },
    },
    async (ctx) => {
      const { upload, actor } = await reached(ctx.env, ctx.state.access, ctx.params.id);
      return ctx.json(await deployUpload(ctx.env, upload.id, ctx.state.audit, actor.accountId), 202);
    },
  );

/** Offset from `Content-Range` or `Upload-Offset`; 0 by default. */
function offsetOf(headers: Headers, bytes: number): number {
  const range = headers.get('content-range');
  const text = range === null ? (headers.get('upload-offset') ?? '0') : rangeStart(range, bytes);
  if (text === null || !/^\d{1,15}$/.test(text))
    throw new ApiError('bad_request', { reason: `Content-Range must be "bytes <from>-<to>/${bytes}"` });
  return Number(text);
}

function rangeStart(range: string, bytes: number): string | null {
  const [, from, to, all] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15}|\*)$/.exec(range) ?? [];
  if (from === undefined || Number(to) < Number(from) || Number(to) >= bytes) return null;
  return all === '*' || Number(all) === bytes ? from : null;
}
