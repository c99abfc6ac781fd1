// Writes an artifact folder: manifest.json, worker.js with its map, migrations.json, assets/, encoded/. Its name is the
// hash of the manifest, so the same build is written once. Called by build.ts; a folder that has its final name is
// complete.
import { createHash, randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { access, mkdir, open, rename, rm, statfs, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { canonicalJson, hashOf } from '#core/artifact-id.ts';
import type { Manifest } from '#core/manifest.ts';
import { BuildError } from '../project/build-error.ts';

/** What goes into an artifact. Hashes in the manifest and the content must agree. */
export interface ArtifactContent {
  readonly manifest: Manifest;
  readonly worker: { readonly code: string; readonly map: string | null } | null;
  /** Asset path -> file to copy, absolute. */
  readonly assets: ReadonlyMap<string, string>;
  /** Text of `migrations.json`; absent where there are none. */
  readonly migrations?: string;
  /** Archive of an ssr project's server, absolute. */
  readonly server?: string;
  /** Hash of a compressed form of an asset -> file to copy, absolute. */
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
  /** Their content; without the file system's overhead. */
  readonly bytes: number;
}

/**
 * Writes an artifact into `<artifacts>/<id>`, whole or not at all; one that is there already stays as it is.
 *
 * @param keepsFreeBytes what of the disk it must leave free
 * @param durable wait until everything is on the disk, so that it outlives a power cut; `platform dev` need not
 * @throws {BuildError} `write_failed` (a full disk, say) or `assets` (a file changed meanwhile); nothing is left
 *   behind.
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
    // Retention takes what is old and used by nobody.
    await utimes(folder, new Date(), new Date()).catch(() => {});
    return artifact;
  }

  // Beside its final place, for a rename needs the same file system. No artifact id starts with a dot.
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
    // What made the writing fail may fail the cleaning too; the first reason is the one to tell.
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

/** The compressed forms that the manifest names, each once: their name is their hash. */
function encodedFiles({ manifest, encoded }: ArtifactContent): Iterable<CopiedFile> {
  const files = new Map<string, CopiedFile>();
  for (const file of Object.values(manifest.assets?.files ?? {})) {
    for (const { hash, bytes } of Object.values(file.encoded ?? {}))
      files.set(hash, { path: `encoded/${hash}`, source: encoded?.get(hash), hash, bytes });
  }
  return files.values();
}

/** Another build of the same sources was faster: its folder is as good. */
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
  // writeFile on the handle writes each chunk to its end, unlike write.
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
