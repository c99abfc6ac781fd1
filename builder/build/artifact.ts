// Writes an artifact folder: manifest.json, worker.js with its source map, migrations.json, assets/, encoded/. The
// folder is named by the hash of the manifest, so identical builds are written once. Called by build.ts; a folder with
// its final name is complete.
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, open, rename, rm, statfs, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canonicalJson, hashOf } from '#core/artifact-id.ts';
import type { Manifest } from '#core/manifest.ts';
import { BuildError } from '../project/build-error.ts';

/** The content of an artifact. Hashes in the manifest must match the artifact. */
export interface ArtifactContent {
  readonly manifest: Manifest;
  readonly worker: { readonly code: string; readonly map: string | null } | null;
  /** Asset path -> absolute path of the file to copy. */
  readonly assets: ReadonlyMap<string, string>;
  /** Text of `migrations.json`; absent if there are no migrations. */
  readonly migrations?: string;
  /** Archive of an ssr project's server, absolute path. */
  readonly server?: string;
  /** Hash of a compressed asset -> absolute path of the file to copy. */
  readonly encoded?: ReadonlyMap<string, string>;
}

/** A written artifact. */
export interface Artifact {
  /** SHA-256 of the canonical manifest, hex. */
  readonly id: string;
  /** `<artifacts>/<id>` */
  readonly folder: string;
  readonly manifest: Manifest;
  /** Files in the folder, the manifest included. */
  readonly files: number;
  /** Size of the files' content, without file system overhead. */
  readonly bytes: number;
}

/**
 * Writes an artifact into `<artifacts>/<id>` atomically; an existing artifact is kept.
 *
 * @param keepsFreeBytes free disk space to keep
 * @param durable whether to wait until everything is flushed to disk; `platform dev` does not @throws {BuildError}
 * `write_failed` (such as a full disk) or `assets` (a file changed during the build); no files are left behind.
 */
export async function writeArtifact(
  artifacts: string,
  content: ArtifactContent,
  durable = true,
  keepsFreeBytes = 0,
): Promise<Artifact> {
  const json = canonicalJson(content.manifest);
  const id = hashOf(json);
  const folder = join(artifacts, id);
  const assets = Object.entries(content.manifest.assets?.files ?? {}).map(([path, { hash, bytes }]): CopiedFile => ({
    path: `assets/${path}`,
    source: content.assets.get(path),
    hash,
    bytes,
  }));
  for (const file of encodedFiles(content)) assets.push(file);
  const { server } = content.manifest;
  if (server !== undefined) assets.push({ path: 'server.tar', source: content.server, ...server });
  const texts: [string, string][] = [['manifest.json', json]];
  if (content.migrations !== undefined) texts.push(['migrations.json', content.migrations]);
  if (content.worker) texts.push(['worker.js', content.worker.code]);
  if (content.worker?.map != null) texts.push(['worker.js.map', content.worker.map]);
  const artifact: Artifact = {
    id,
    folder,
    manifest: content.manifest,
    files: texts.length + assets.length,
    bytes:
      texts.reduce((sum, [, text]) => sum + Buffer.byteLength(text), 0) +
      assets.reduce((sum, file) => sum + file.bytes, 0),
  };
  if (await exists(folder)) {
    // Updates the artifact's age, since retention deletes old unused artifacts.
    await utimes(folder, new Date(), new Date()).catch(() => {});
    return artifact;
  }

  // The temporary folder is a sibling of the final folder, because a rename works only within one file system. Artifact
  // ids never start with a dot.
  const temporary = join(artifacts, `.${id.slice(0, 12)}-${randomBytes(6).toString('hex')}`);
  try {
    const folders = new Set([temporary]);
    await mkdir(artifacts, { recursive: true });
    if (keepsFreeBytes > 0) await checkSpace(artifacts, artifact.bytes, keepsFreeBytes);
    await mkdir(temporary, { mode: 0o700 });
    for (const { path, source, hash } of assets) {
      const target = join(temporary, path);
      for (let parent = dirname(target); !folders.has(parent); parent = dirname(parent)) folders.add(parent);
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      await copy(source, target, path, hash, durable);
    }
    for (const [name, text] of texts) await writeWhole(join(temporary, name), [Buffer.from(text)], durable);
    if (durable) for (const made of folders) await syncFolder(made);
    await rename(temporary, folder).catch((error: unknown) => keepFirst(error, temporary, folder));
    if (durable) await syncFolder(artifacts);
  } catch (error) {
    // The cleanup may fail for the same reason; report the original error.
    await rm(temporary, { recursive: true, force: true }).catch(() => {});
    throw toWriteError(error, artifacts);
  }
  return artifact;
}

async function checkSpace(folder: string, bytes: number, keepsFreeBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes + keepsFreeBytes)
    throw new Error(
      `it has ${bytes} bytes, the disk has ${bavail * bsize} free, and ${keepsFreeBytes} of them stay free (DISK_FREE_BYTES_MIN)`,
    );
}

interface CopiedFile {
  /** In the artifact. */
  readonly path: string;
  readonly source: string | undefined;
  readonly hash: string;
  readonly bytes: number;
}

/** The compressed forms named by the manifest, without duplicates; they are named by hash. */
function encodedFiles({ manifest, encoded }: ArtifactContent): Iterable<CopiedFile> {
  const files = new Map<string, CopiedFile>();
  for (const file of Object.values(manifest.assets?.files ?? {})) {
    for (const { hash, bytes } of Object.values(file.encoded ?? {}))
      files.set(hash, { path: `encoded/${hash}`, source: encoded?.get(hash), hash, bytes });
  }
  return files.values();
}

/** Another build of the same sources finished first: its folder is identical. */
async function keepFirst(error: unknown, temporary: string, folder: string): Promise<void> {
  if (!(await exists(folder))) throw error;
  await rm(temporary, { recursive: true, force: true });
}

async function copy(
  source: string | undefined,
  target: string,
  path: string,
  expected: string,
  durable: boolean,
): Promise<void> {
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of createReadStream(source ?? '')) {
      hash.update(chunk as Uint8Array);
      yield chunk as Uint8Array;
    }
  }
  await writeWhole(target, hashed(), durable);
  if (hash.digest('hex') !== expected)
    throw new BuildError(
      'assets',
      `Asset ${path.slice(path.indexOf('/') + 1)} changed while the artifact was written; build again`,
    );
}

async function writeWhole(
  target: string,
  chunks: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  durable: boolean,
): Promise<void> {
  await using file = await open(target, 'wx');
  // Unlike write, writeFile on the handle always writes the complete chunk.
  await file.writeFile(chunks);
  if (durable) await file.sync();
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function toWriteError(error: unknown, artifacts: string): BuildError {
  if (error instanceof BuildError) return error;
  const { code, message } = error as NodeJS.ErrnoException;
  const reason =
    code === 'ENOSPC' || code === 'EDQUOT' ? 'the disk is full' : code === 'EACCES' ? 'permission denied' : message;
  return new BuildError('write_failed', `The artifact cannot be written to ${artifacts}: ${reason}`, { cause: error });
}
