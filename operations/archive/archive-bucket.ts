// Backups in a bucket: `<prefix>/blobs/<2 digits>/<id>` for each content, shared by all backups of the prefix, and
// `<prefix>/backups/<name>.json` with `<name>.manifest` for each backup. Existing contents are not uploaded again. Only
// one backup at a time may write to a prefix.
import { createHash } from 'node:crypto';
import { isFailure } from '#core/failure.ts';
import { openBucket, unquote, type BucketOptions } from '#core/s3/bucket.ts';
import { childText } from '#core/s3/xml.ts';
import { backupError } from './backup-error.ts';
import { damaged, parseHeader, type BackupHeader } from './manifest.ts';
import type { BackupSink, BackupSource } from './store.ts';

type Bucket = ReturnType<typeof openBucket>;

/** The backups of a prefix. */
interface Repository {
  readonly bucket: Bucket;
  /** `s3://bucket/prefix` */
  readonly location: string;
  /** The prefix of all keys. */
  readonly root: string;
  /** Undefined if no backup exists yet. */
  readonly encryption: BackupHeader['encryption'] | undefined;
  close(): Promise<void>;
}

/** How long unreferenced contents are kept: a running backup may be about to reference them. */
const UNNAMED_MS = 24 * 60 * 60 * 1000;
const NAME = /^platform-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z$/;

/** @throws {Failure} `backup` when the storage is unreachable or refuses the request. */
export async function openRepository(options: BucketOptions, prefix: string): Promise<Repository> {
  const bucket = openBucket(options);
  const location = `s3://${options.bucket}${prefix === '' ? '' : `/${prefix}`}`;
  const root = prefix === '' ? '' : `${prefix}/`;
  try {
    const text = await download(bucket, `${root}repository.json`);
    const encryption = text === null ? undefined : parseHeader(text.toString('utf8')).encryption;
    return { bucket, location, root, encryption, close: () => bucket.close() };
  } catch (error) {
    await bucket.close();
    throw asFailure(error, location);
  }
}

/** Begins a backup. */
export async function createArchiveBucket(
  { bucket, location, root, encryption }: Repository,
  name: string,
  header: BackupHeader,
): Promise<BackupSink> {
  const known = new Set<string>();
  for (const { key } of await list(bucket, `${root}blobs/`)) known.add(key.slice(key.lastIndexOf('/') + 1));
  let bytes = 0;
  const send = async (key: string, body: Uint8Array): Promise<void> => {
    await upload(bucket, key, body).catch((error: unknown) => {
      throw asFailure(error, location);
    });
    bytes += body.length;
  };
  if (encryption === undefined) await send(`${root}repository.json`, Buffer.from(JSON.stringify(header)));
  return {
    has: (id) => known.has(id),
    async put(id, encoded) {
      await send(blobKey(root, id), encoded);
      known.add(id);
    },
    async finish(id, encoded) {
      await send(`${root}backups/${name}.manifest`, encoded);
      // Written last, because lists read this file.
      await send(`${root}backups/${name}.json`, Buffer.from(JSON.stringify({ header, manifest: id })));
      return { location: `${location}/${name}`, bytes };
    },
    // Uploaded contents are reused by the next backup, or removed a day later.
    abort: async () => {},
  };
}

/** Names of the backups, oldest first. */
export async function listBackups({ bucket, root }: Repository): Promise<string[]> {
  const found = await list(bucket, `${root}backups/`);
  return found
    .map(({ key }) => key.slice(root.length + 'backups/'.length))
    .filter((name) => name.endsWith('.json') && NAME.test(name.slice(0, -5)))
    .map((name) => name.slice(0, -5))
    .toSorted();
}

/** Opens a backup. @param name null: the newest. @throws {Failure} `backup` */
export async function openArchiveBucket(repository: Repository, name: string | null): Promise<BackupSource> {
  const { bucket, root, location } = repository;
  try {
    const chosen = name ?? (await listBackups(repository)).at(-1);
    if (chosen === undefined || !NAME.test(chosen))
      throw backupError(
        'settings',
        name === null ? `There is no backup in ${location}` : `"${name}" is not the name of a backup`,
        '`platform backup --list` lists the existing backups.',
      );
    const text = await download(bucket, `${root}backups/${chosen}.json`);
    if (text === null)
      throw backupError(
        'settings',
        `There is no backup ${chosen} in ${location}`,
        '`platform backup --list` lists the existing backups.',
      );
    const { header, manifest } = parseNote(text.toString('utf8'));
    const ids = new Set<string>();
    for (const { key } of await list(bucket, `${root}blobs/`)) ids.add(key.slice(key.lastIndexOf('/') + 1));
    return {
      location: `${location}/${chosen}`,
      header: parseHeader(JSON.stringify(header)),
      manifestId: manifest,
      has: (id) => ids.has(id),
      async read(id) {
        const key = id === manifest ? `${root}backups/${chosen}.manifest` : blobKey(root, id);
        const content = await download(bucket, key).catch((error: unknown) => {
          throw asFailure(error, location);
        });
        if (content === null) throw damaged('a content is missing');
        return content;
      },
      close: () => repository.close(),
    };
  } catch (error) {
    await repository.close();
    throw asFailure(error, location);
  }
}

/** Deletes a backup; the next {@link removeUnnamed} deletes its contents. */
export async function removeBackup({ bucket, root }: Repository, name: string): Promise<void> {
  for (const suffix of ['json', 'manifest']) await remove(bucket, `${root}backups/${name}.${suffix}`);
}

/** Deletes unreferenced contents older than a day. @returns how many. */
export async function removeUnnamed(
  { bucket, root }: Repository,
  used: ReadonlySet<string>,
  now: number,
): Promise<number> {
  let removed = 0;
  for (const { key, changedAt } of await list(bucket, `${root}blobs/`)) {
    if (used.has(key.slice(key.lastIndexOf('/') + 1)) || now - changedAt < UNNAMED_MS) continue;
    await remove(bucket, key);
    removed++;
  }
  return removed;
}

function parseNote(text: string): { header: unknown; manifest: string } {
  try {
    const { header, manifest } = JSON.parse(text) as { header: unknown; manifest: unknown };
    if (typeof manifest === 'string' && /^[0-9a-f]{64}$/.test(manifest)) return { header, manifest };
  } catch {
    // Below.
  }
  throw damaged('its header is not valid');
}

function blobKey(root: string, id: string): string {
  return `${root}blobs/${id.slice(0, 2)}/${id}`;
}

async function download(bucket: Bucket, key: string): Promise<Buffer | null> {
  const response = await bucket.send({ method: 'GET', key });
  if (response.status === 404) {
    await response.body?.cancel();
    return null;
  }
  if (!response.ok) throw new Error(`it answers ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

async function upload(bucket: Bucket, key: string, body: Uint8Array): Promise<void> {
  const response = await bucket.expect({ method: 'PUT', key, body });
  const etag = unquote(response.headers.get('etag'));
  await response.body?.cancel();
  const md5 = createHash('md5').update(body).digest('hex');
  if (/^[0-9a-f]{32}$/.test(etag) && etag !== md5) throw new Error('the storage returned other bytes than were sent');
}

async function remove(bucket: Bucket, key: string): Promise<void> {
  const response = await bucket.send({ method: 'DELETE', key });
  await response.body?.cancel();
}

/** Lists all keys below a prefix. */
async function list(bucket: Bucket, prefix: string): Promise<{ readonly key: string; readonly changedAt: number }[]> {
  const all: { key: string; changedAt: number }[] = [];
  for (let after = ''; ;) {
    const document = await bucket.read({
      method: 'GET',
      query: { 'list-type': '2', prefix, 'max-keys': '1000', ...(after === '' ? {} : { 'start-after': after }) },
    });
    const page = document.children
      .filter(({ name }) => name === 'Contents')
      .map((entry) => ({ key: childText(entry, 'Key'), changedAt: Date.parse(childText(entry, 'LastModified')) }));
    all.push(...page);
    const last = page.at(-1)?.key ?? '';
    if (childText(document, 'IsTruncated') !== 'true' || last <= after) return all;
    after = last;
  }
}

function asFailure(error: unknown, location: string): Error {
  if (isFailure(error, 'backup')) return error;
  return backupError(
    'failed',
    `${location} cannot be used: ${(error as Error).message}`,
    'Check BACKUP_S3_ENDPOINT, the bucket and the permissions of the key.',
    { cause: error },
  );
}
