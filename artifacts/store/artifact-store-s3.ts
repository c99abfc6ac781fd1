// Artifacts in a bucket of S3-compatible storage: `<prefix>/<2 digits>/<id>.tar.gz` for each, and
// `<prefix>/installation`, the id of the platform that the prefix belongs to. An object appears either completely or
// not at all. Fetched artifacts are checked by their hashes before they are in the data folder.
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isArchiveError } from '#core/archive/archive-error.ts';
import { PlatformError } from '#core/errors.ts';
import { Failure, isFailure } from '#core/failure.ts';
import { isArtifactId } from '#core/names.ts';
import { openBucket, type Bucket } from '#core/s3/bucket.ts';
import type { BucketPlace } from '#core/s3/bucket-variables.ts';
import { childText } from '#core/s3/xml.ts';
import { packArtifact } from '../archive/pack-artifact.ts';
import type { ArchiveLimits } from '../archive/read-archive.ts';
import { receiveKnownArtifact } from '../archive/receive-artifact.ts';
import { temporaryFolder } from '../route-records.ts';
import { hasArtifact, isArtifactFolder } from './artifact-store-disk.ts';
import type { ArtifactStore } from './artifact-store.ts';

interface S3Options {
  /** `FS_PATH`. */
  readonly dataFolder: string;
  readonly place: BucketPlace;
  /** Reads the id of this platform from its database; called once. */
  readonly installation: () => Promise<string>;
  readonly limits: ArchiveLimits;
  /** How long to wait for an unresponsive storage. By default, calls do not wait. */
  readonly awayMsMax?: number;
  /** Timeout of a connection, of a response and of each piece of a response; half a minute by default. */
  readonly stallMsMax?: number;
}

const STALL_MS_MAX = 30_000;
/** One artifact. */
const TRANSFER_MS_MAX = 15 * 60_000;
const [AGAIN_MS, AGAIN_MS_MAX] = [250, 5000];
/** Retention keeps objects younger than twice this time. */
const FRESH_MS = 3 * 3_600_000;
/** A damaged transfer is repeated; damaged bytes in the bucket stay damaged. */
const FETCHES_MAX = 3;

/** Opens the store; sends no request before the first call. */
export function openArtifactsS3({
  dataFolder,
  place,
  installation,
  limits,
  awayMsMax = 0,
  stallMsMax = STALL_MS_MAX,
}: S3Options): ArtifactStore {
  const bucket = openBucket(place, stallMsMax);
  const root = place.prefix === '' ? '' : `${place.prefix}/`;
  const location = `s3://${place.bucket}/${root}`;
  /** Several callers may need one artifact at the same time. */
  const fetching = new Map<string, Promise<void>>();
  let id: string | null = null;
  let isOwn = false;

  const keyOf = (id: string): string => {
    if (!isArtifactId(id)) throw failure('missing', `"${id}" is not an artifact id`);
    return `${root}${id.slice(0, 2)}/${id}.tar.gz`;
  };

  /** @throws {Failure} if the prefix belongs to another platform. */
  async function checkOwner(mayClaim: boolean): Promise<void> {
    if (isOwn) return;
    id ??= await installation();
    let owner = await readOwner();
    if (owner === null) {
      if (!mayClaim) return;
      await claim(id);
      owner = await readOwner();
    }
    if (owner !== id)
      throw failure(
        'refused',
        `${location} belongs to the platform ${owner ?? 'unknown'}, and this one is ${id}: set ARTIFACTS_S3_BUCKET or ARTIFACTS_S3_PREFIX to a separate location`,
      );
    isOwn = true;
  }

  async function readOwner(): Promise<string | null> {
    const response = await bucket.send({ method: 'GET', key: `${root}installation` });
    if (response.status === 404) {
      await response.body?.cancel();
      return null;
    }
    if (!response.ok) throw await refusal(response, `${root}installation`);
    return (await response.text()).trim();
  }

  async function claim(installationId: string): Promise<void> {
    const request = { method: 'PUT', key: `${root}installation`, body: Buffer.from(`${installationId}\n`) } as const;
    // The first writer wins; storages without conditional writes accept both.
    let response = await bucket.send({ ...request, headers: { 'if-none-match': '*' } });
    if (response.status === 501) response = await bucket.send(request);
    if (!response.ok && response.status !== 412 && response.status !== 409)
      throw await refusal(response, `${root}installation`);
    await response.body?.cancel();
  }

  /** Size and age of an object, or null. */
  async function look(key: string): Promise<{ readonly bytes: number; readonly ageMs: number } | null> {
    const response = await bucket.send({ method: 'HEAD', key });
    if (response.status === 404) return null;
    if (!response.ok) throw await refusal(response, key);
    const at = Date.parse(response.headers.get('last-modified') ?? '');
    return { bytes: Number(response.headers.get('content-length') ?? -1), ageMs: Date.now() - at };
  }

  async function put(id: string, from: string): Promise<void> {
    await checkOwner(true);
    const key = keyOf(id);
    // An old artifact is uploaded again, because retention may delete it before anything refers to it.
    if (((await look(key))?.ageMs ?? Infinity) < FRESH_MS) return;
    const folder = temporaryFolder(dataFolder, 'artifacts');
    try {
      const file = path.join(folder, 'packed.tar.gz');
      const { sha256, bytes } = await packArtifact(from, file);
      const signal = AbortSignal.timeout(TRANSFER_MS_MAX);
      const response = await bucket.send({ method: 'PUT', key, file: { path: file, sha256 }, signal });
      if (!response.ok) throw await refusal(response, key);
      await response.body?.cancel();
      const stored = (await look(key))?.bytes ?? 0;
      if (stored === bytes) return;
      await bucket.send({ method: 'DELETE', key });
      throw failure('away', `${location} has ${stored} bytes of ${bytes} of ${id}`);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async function get(id: string): Promise<void> {
    await checkOwner(false);
    const key = keyOf(id);
    for (let attempt = 1; ; attempt++) {
      const response = await bucket.send({ method: 'GET', key, signal: AbortSignal.timeout(TRANSFER_MS_MAX) });
      if (response.status === 404) {
        await response.body?.cancel();
        throw failure('missing', `There is no artifact ${id} in ${location}`);
      }
      if (!response.ok || response.body === null) throw await refusal(response, key);
      try {
        await receiveKnownArtifact(dataFolder, id, response.body, limits);
        return;
      } catch (error) {
        if (attempt < FETCHES_MAX) continue;
        if (isArchiveError(error)) throw failure('damaged', `${location}: ${id} is damaged: ${error.message}`, error);
        if ((error as NodeJS.ErrnoException).syscall !== undefined && isOfDisk(error)) throw error;
        throw failure('away', `${location} cannot be read: ${(error as Error).message}`, error);
      }
    }
  }

  /** Retries while the storage does not respond, and adds the bucket to errors. */
  async function tried<Result>(work: () => Promise<Result>): Promise<Result> {
    const until = performance.now() + awayMsMax;
    for (let againMs = AGAIN_MS; ; againMs = Math.min(AGAIN_MS_MAX, 2 * againMs)) {
      try {
        return await work();
      } catch (error) {
        const named = inWords(error, location);
        if (!isFailure(named, 'artifact_store') || named.reason !== 'away' || performance.now() + againMs > until)
          throw named;
        await pause(againMs);
      }
    }
  }

  return {
    isShared: true,
    async fetch(id) {
      if (await hasArtifact(dataFolder, id)) return;
      let running = fetching.get(id);
      if (running === undefined) {
        running = tried(() => get(id)).finally(() => void fetching.delete(id));
        fetching.set(id, running);
      }
      await running;
    },
    async upload(id, from = path.join(dataFolder, 'artifacts', id)) {
      if (!isArtifactId(id) || !(await isArtifactFolder(from)))
        throw failure('missing', `There is no artifact ${id} in ${path.dirname(from)}`);
      await tried(() => put(id, from));
    },
    async remove(id) {
      const key = keyOf(id);
      await tried(async () => {
        await checkOwner(false);
        // A prefix without an owner is empty.
        if (!isOwn) return;
        const response = await bucket.send({ method: 'DELETE', key });
        if (!response.ok && response.status !== 404) throw await refusal(response, key);
        await response.body?.cancel();
      });
    },
    list: () =>
      tried(async () => {
        await checkOwner(false);
        return isOwn ? listObjects(bucket, root) : new Map<string, number>();
      }),
    close: () => bucket.close(),
  };
}

async function listObjects(bucket: Bucket, root: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let after = ''; ;) {
    const document = await bucket.read({
      method: 'GET',
      query: { 'list-type': '2', prefix: root, 'max-keys': '1000', ...(after === '' ? {} : { 'start-after': after }) },
    });
    let last = '';
    for (const entry of document.children) {
      if (entry.name !== 'Contents') continue;
      last = childText(entry, 'Key');
      const [, id] = /\/([0-9a-f]{64})\.tar\.gz$/.exec(`/${last.slice(root.length)}`) ?? [];
      if (id !== undefined) found.set(id, Date.parse(childText(entry, 'LastModified')));
    }
    if (childText(document, 'IsTruncated') !== 'true' || last <= after) return found;
    after = last;
  }
}

function failure(reason: Failure<'artifact_store'>['reason'], message: string, cause?: unknown): Failure {
  return new Failure('artifact_store', message, { reason, ...(cause !== undefined && { cause }) });
}

/** Converts an error response of the storage to a failure. */
async function refusal(response: Awaited<ReturnType<Bucket['send']>>, key: string): Promise<Failure> {
  const { status } = response;
  await response.body?.cancel();
  if (status >= 500 || status === 408 || status === 429)
    return failure('away', `The artifact storage answered with status ${status}`);
  const advice =
    status === 403
      ? ': check the permissions of ARTIFACTS_S3_ACCESS_KEY_ID, which must read, write, delete and list'
      : status === 404
        ? ': check ARTIFACTS_S3_ENDPOINT and ARTIFACTS_S3_BUCKET'
        : '';
  return failure('refused', `The artifact storage answered with status ${status} for ${key}${advice}`);
}

/** Adds the bucket to an error of the storage; errors of the disk are unchanged. */
function inWords(error: unknown, location: string): unknown {
  if (!(error instanceof PlatformError) || error.code !== 'binding_unavailable') return error;
  const { status, reason } = error.details as { readonly status?: number; readonly reason?: string };
  const kind = status !== undefined && status < 500 && status !== 408 && status !== 429 ? 'refused' : 'away';
  return failure(kind, `${location} cannot be used: ${reason ?? error.message}`, error);
}

function isOfDisk(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '');
}
