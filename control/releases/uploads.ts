// Artifact uploads of `platform deploy`: their bytes are collected in `uploads/` of the data folder, verified by their
// hash, and become an artifact and a deployment. Interrupted uploads resume.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { isArchiveError } from '#core/archive/archive-error.ts';
import { receiveArtifact } from '#artifacts/archive/receive-artifact.ts';
import { ApiError } from '../http/errors.ts';
import type { Dependencies, UploadLimits } from '../process/dependencies.ts';
import { newDeploymentId, newId } from '../records/ids.ts';
import { refuseFull } from '../storage/refuse.ts';
import { supersede } from './create-deployment.ts';
import { addLogLines } from './deployment-log.ts';
import { tell, type Audit } from './audit-entries.ts';
import { uploadArtifact } from './stored-artifacts.ts';

/** The deployment that an upload creates. */
interface UploadInput {
  readonly branch: string;
  /** Null means production for the project's default branch, and a preview for any other branch. */
  readonly target: 'production' | 'preview' | null;
  readonly commit: string | null;
  readonly message: string | null;
}

/** Progress of an upload. */
export interface Upload {
  readonly id: string;
  readonly projectId: string;
  readonly bytes: number;
  readonly sha256: string;
  /** Bytes received; the next piece starts here. */
  readonly received: number;
  readonly expiresAt: Date;
  readonly deploymentId: string | null;
}

interface Row {
  readonly id: string;
  readonly project_id: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly received: number;
  readonly expires_at: Date;
  readonly deployment_id: string | null;
  readonly input: UploadInput;
}

type UploadDeps = Pick<Dependencies, 'sql' | 'folder' | 'artifacts' | 'log' | 'mutex' | 'storage'> & {
  readonly uploadLimits: UploadLimits;
};

const OPEN_MAX = 20;
const LIFE_MS = 24 * 3_600_000;
/** Maximum overhead of a file in an archive: its name and padding. */
const FILE_OVERHEAD_BYTES = 4096;
const NOTED_EVERY_BYTES = 8 * 1024 * 1024;
const PIECE_MS_MAX = 60_000;

/**
 * Starts an upload. Resumes an incomplete upload of the same archive by the same account.
 *
 * @throws {ApiError} `payload_too_large`, `storage_full`, `conflict` (too many at once), `unavailable` (disk)
 */
export async function beginUpload(
  deps: UploadDeps,
  given: { readonly projectId: string; readonly bytes: number; readonly sha256: string } & UploadInput,
  accountId: string,
): Promise<Upload> {
  const { sql, folder, uploadLimits: limits } = deps;
  const { projectId, bytes, sha256, ...input } = given;
  const bytesMax = limits.artifactBytesMax + limits.artifactFilesMax * FILE_OVERHEAD_BYTES;
  if (bytes > bytesMax) throw new ApiError('payload_too_large', { allowed: bytesMax });
  await mkdir(folderOf(folder), { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(folderOf(folder));
  // Needs twice the size of the archive, for the archive and for its extracted files.
  if (bavail * bsize < 2 * bytes + limits.diskFreeBytesMin)
    throw new ApiError('unavailable', { reason: 'The disk of the platform has no space for this upload' });
  return sql.begin(async (tx) => {
    const [project] = await tx<{ organization_id: string }[]>`
      SELECT organization_id FROM control.project WHERE id = ${projectId} FOR UPDATE`;
    if (project === undefined) throw new ApiError('not_found');
    await refuseFull(deps, tx, project.organization_id);
    const [same] = await tx<Row[]>`
      UPDATE control.upload SET input = ${tx.json(input as never)}, expires_at = ${new Date(Date.now() + LIFE_MS)}
      WHERE project_id = ${projectId} AND sha256 = ${sha256} AND bytes = ${bytes} AND created_by = ${accountId}
        AND deployment_id IS NULL AND expires_at > now()
      RETURNING *`;
    if (same !== undefined) return toUpload(same);
    const [open_] = await tx<{ count: number }[]>`
      SELECT count(*) FROM control.upload
      WHERE project_id = ${projectId} AND deployment_id IS NULL AND expires_at > now()`;
    if (open_!.count >= OPEN_MAX)
      throw new ApiError('conflict', {
        reason: `Limit of open uploads reached: ${OPEN_MAX} per project. Finish one, or wait`,
      });
    const [made] = await tx<Row[]>`
      INSERT INTO control.upload (id, project_id, created_by, bytes, sha256, input, expires_at)
      VALUES (${newId('upload')}, ${projectId}, ${accountId}, ${bytes}, ${sha256}, ${tx.json(input as never)},
        ${new Date(Date.now() + LIFE_MS)})
      RETURNING *`;
    return toUpload(made!);
  });
}

/** @throws {ApiError} `not_found` */
export async function readUpload({ sql }: Pick<Dependencies, 'sql'>, id: string): Promise<Upload> {
  return toUpload(await readRow(sql, id));
}

/**
 * Receives bytes of an archive.
 *
 * @param offset the end of the previous piece.
 * @returns the progress; bytes received before a disconnect are kept.
 * @throws {ApiError} `conflict` for another offset, `payload_too_large` for more bytes than announced.
 */
export function addToUpload(
  deps: UploadDeps,
  id: string,
  offset: number,
  content: ReadableStream<Uint8Array> | null,
): Promise<Upload> {
  const { sql, folder, mutex } = deps;
  return mutex.exclusive(`upload:${id}`, async () => {
    const row = await readRow(sql, id);
    if (row.deployment_id !== null) throw new ApiError('conflict', { reason: 'This upload is already deployed' });
    if (offset !== row.received)
      throw new ApiError(
        'conflict',
        { reason: `The upload has ${row.received} bytes: continue there` },
        { 'upload-offset': String(row.received) },
      );
    let received = row.received;
    let noted = received;
    const noteReceived = async (): Promise<void> => {
      if (noted === received) return;
      noted = received;
      await sql`UPDATE control.upload SET received = ${received} WHERE id = ${id}`;
    };
    await using file = await open(fileOf(folder, id), received === 0 ? 'w' : 'r+', 0o600);
    // Drops bytes that a killed process wrote without recording them.
    await file.truncate(received);
    try {
      for await (const piece of pieces(content)) {
        if (received + piece.length > row.bytes)
          throw new ApiError('payload_too_large', { allowed: row.bytes - row.received });
        await file.write(piece, 0, piece.length, received);
        received += piece.length;
        if (received - noted >= NOTED_EVERY_BYTES) await noteReceived();
      }
    } finally {
      await file.datasync();
      await noteReceived();
    }
    return toUpload({ ...row, received });
  });
}

/**
 * Creates a deployment of a complete upload; idempotent.
 *
 * @throws {ApiError} `conflict` while bytes are missing; error codes of archives if it is invalid, in which case
 *   nothing of it is kept.
 */
export function deployUpload(
  deps: UploadDeps,
  id: string,
  audit: Audit,
  accountId: string,
): Promise<{ readonly deploymentId: string; readonly artifact: string }> {
  const { sql, folder, mutex } = deps;
  return mutex.exclusive(`upload:${id}`, async () => {
    const row = await readRow(sql, id);
    if (row.deployment_id !== null) {
      const [made] = await sql<{ artifact: string }[]>`
        SELECT artifact FROM control.deployment WHERE id = ${row.deployment_id}`;
      return { deploymentId: row.deployment_id, artifact: made?.artifact ?? '' };
    }
    if (row.received !== row.bytes)
      throw new ApiError(
        'conflict',
        { reason: `The upload is incomplete: ${row.received} of ${row.bytes} bytes. Send the rest first` },
        { 'upload-offset': String(row.received) },
      );
    const file = fileOf(folder, id);
    let artifact: Awaited<ReturnType<typeof receiveArtifact>>;
    try {
      await checkHash(file, row);
      artifact = await receiveArtifact(folder, file, deps.uploadLimits);
    } catch (error) {
      const isWrong = isArchiveError(error) || error instanceof ApiError;
      if (isWrong) await forget(deps, id);
      if (isArchiveError(error)) throw new ApiError(error.code, { reason: error.message });
      throw error;
    }
    // If this fails, the upload is kept and can be deployed again.
    await uploadArtifact(deps, artifact.id);
    const deploymentId = await insertDeployment(deps, row, artifact, audit, accountId);
    await rm(file, { force: true });
    return { deploymentId, artifact: artifact.id };
  });
}

/** Deletes expired uploads and their bytes. */
export async function removeExpiredUploads({ sql, folder }: Pick<Dependencies, 'sql' | 'folder'>): Promise<number> {
  const gone = await sql<{ id: string }[]>`DELETE FROM control.upload WHERE expires_at < now() RETURNING id`;
  for (const { id } of gone) await rm(fileOf(folder, id), { force: true });
  return gone.length;
}

async function insertDeployment(
  { sql }: UploadDeps,
  row: Row,
  artifact: {
    readonly id: string;
    readonly manifest: { readonly kind: string };
    readonly files: number;
    readonly bytes: number;
  },
  audit: Audit,
  accountId: string,
): Promise<string> {
  const { branch, target: given, commit, message } = row.input;
  const id = newDeploymentId();
  await sql.begin(async (tx) => {
    const [project] = await tx<{ organization_id: string; default_branch: string }[]>`
      SELECT organization_id, default_branch FROM control.project
      WHERE id = ${row.project_id} AND deleted_at IS NULL FOR UPDATE`;
    if (project === undefined) throw new ApiError('not_found');
    const target = given ?? (branch === project.default_branch ? 'production' : 'preview');
    await supersede(tx, row.project_id, branch);
    await tx`
      INSERT INTO control.deployment (id, project_id, organization_id, status, target, branch, commit_sha,
        commit_message, source, created_by, kind, artifact, created_at)
      VALUES (${id}, ${row.project_id}, ${project.organization_id}, 'uploading', ${target}, ${branch}, ${commit},
        ${message}, 'upload', ${accountId}, ${artifact.manifest.kind}, ${artifact.id}, clock_timestamp())`;
    await addRelease(tx, id);
    await tx`UPDATE control.upload SET deployment_id = ${id} WHERE id = ${row.id}`;
    await addLogLines(tx, id, 'upload', [
      ['info', `Received ${artifact.files} files, ${artifact.bytes} bytes: artifact ${artifact.id.slice(0, 12)}`],
    ]);
    await audit(tx, {
      organizationId: project.organization_id,
      projectId: row.project_id,
      action: 'deployment.create',
      subjectKind: 'deployment',
      subjectId: id,
      details: { branch, commit, source: 'upload', target },
    });
    await tell(tx, id);
  });
  return id;
}

/** Adds the release job of a deployment whose artifact is stored, and wakes the release loop. */
export async function addRelease(tx: Parameters<typeof tell>[0], deploymentId: string): Promise<void> {
  await tx`
    INSERT INTO control.job (kind, deployment_id, project_id, branch)
    SELECT 'release', id, project_id, branch FROM control.deployment WHERE id = ${deploymentId}
    ON CONFLICT (kind, deployment_id) DO NOTHING`;
  await tx`SELECT pg_notify('control_job', 'release')`;
}

async function checkHash(file: string, { bytes, sha256 }: Row): Promise<void> {
  const { size } = await stat(file).catch(() => ({ size: 0 }));
  const hash = createHash('sha256');
  if (size === bytes) for await (const chunk of createReadStream(file)) hash.update(chunk as Uint8Array);
  if (size !== bytes || hash.digest('hex') !== sha256)
    throw new ApiError('archive_invalid', {
      reason: 'The uploaded archive does not have the announced hash: upload it again',
    });
}

async function forget({ sql, folder }: UploadDeps, id: string): Promise<void> {
  await sql`DELETE FROM control.upload WHERE id = ${id}`;
  await rm(fileOf(folder, id), { force: true });
}

async function readRow(sql: Dependencies['sql'], id: string): Promise<Row> {
  const [row] = await sql<Row[]>`SELECT * FROM control.upload WHERE id = ${id} AND expires_at > now()`;
  if (row === undefined) throw new ApiError('not_found');
  return row;
}

/** The chunks of a body. A body that stalls is treated like a broken connection. */
async function* pieces(content: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (content === null) return;
  const reader = content.getReader();
  try {
    for (;;) {
      const late = AbortSignal.timeout(PIECE_MS_MAX);
      const gone = new Promise<never>((_, reject) =>
        late.addEventListener('abort', () =>
          reject(new ApiError('bad_request', { reason: 'The upload stalled: send the rest again' })),
        ),
      );
      const { done, value } = await Promise.race([reader.read(), gone]);
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function folderOf(folder: string): string {
  return path.join(folder, 'uploads');
}

/** Ids are generated by the platform, so the path is safe. */
function fileOf(folder: string, id: string): string {
  return path.join(folderOf(folder), path.basename(id));
}

function toUpload(row: Row): Upload {
  return {
    id: row.id,
    projectId: row.project_id,
    bytes: row.bytes,
    sha256: row.sha256,
    received: row.received,
    expiresAt: row.expires_at,
    deploymentId: row.deployment_id,
  };
}
