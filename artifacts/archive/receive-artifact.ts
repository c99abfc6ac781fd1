// Extracts an artifact from an archive into `artifacts/`, atomically. The id is derived from the content, so a forged
// artifact cannot replace another one. Called by the upload route, and for archives from the bucket of artifacts.
import { createReadStream } from 'node:fs';
import { access, mkdir, open, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { artifactId, canonicalJson } from '#core/artifact-id.ts';
import type { PlatformError } from '#core/errors.ts';
import type { Manifest } from '#core/manifest.ts';
import { archiveError } from '#core/archive/archive-error.ts';
import { invalid, shown } from '#core/archive/tar-header.ts';
import { temporaryFolder } from '../route-records.ts';
import { checkManifest, checkMigrations, filesOf } from './manifest-check.ts';
import { readArchive, type ArchiveLimits, type ReadFile } from './read-archive.ts';
import { writeNew } from './write-new.ts';

/** An accepted artifact. */
interface ReceivedArtifact {
  readonly id: string;
  readonly manifest: Manifest;
  readonly files: number;
  readonly bytes: number;
}

/** Size limit of manifest.json and of migrations.json. */
const JSON_BYTES_MAX = 32 * 1024 * 1024;

/**
 * Reads an archive and stores its artifact under `<dataFolder>/artifacts/<id>`; an existing artifact is kept.
 *
 * @throws {PlatformError} if the archive is not valid; no file is then kept.
 */
export function receiveArtifact(dataFolder: string, archive: string, limits: ArchiveLimits): Promise<ReceivedArtifact> {
  return extract(dataFolder, createReadStream(archive), limits, checkManifest);
}

/**
 * Like {@link receiveArtifact}, for an artifact that was accepted before: only its hashes are checked, because a newer
 * version of the platform may have written its manifest.
 *
 * @throws {PlatformError} also when the archive contains another artifact than `id`.
 */
export function receiveKnownArtifact(
  dataFolder: string,
  id: string,
  chunks: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
): Promise<ReceivedArtifact> {
  return extract(dataFolder, chunks, limits, (text) => {
    const manifest = parseManifest(text);
    if (manifest === null || artifactId(manifest) !== id) throw wrong(`manifest.json is not that of ${id}`);
    return { id, manifest };
  });
}

function parseManifest(text: string): Manifest | null {
  try {
    return JSON.parse(text) as Manifest | null;
  } catch {
    return null;
  }
}

async function extract(
  dataFolder: string,
  chunks: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
  readManifest: typeof checkManifest,
): Promise<ReceivedArtifact> {
  const incoming = temporaryFolder(dataFolder, 'artifacts');
  const root = path.join(incoming, 'artifact');
  try {
    const folders = new Set<string>();
    const makeParents = async (file: string): Promise<void> => {
      const folder = path.dirname(file);
      if (folders.has(folder)) return;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      folders.add(folder);
    };
    await mkdir(root, { mode: 0o700 });
    const files = await readArchive(chunks, limits, async (name, content) => {
      const file = path.join(root, name);
      await makeParents(file);
      await writeWhole(file, content);
    });
    const checked = await checkFiles(files, (name) => readFile(path.join(root, name), 'utf8'), readManifest);
    // Writes the manifest in the builder's format, so that an id stands for exactly one text.
    await writeFile(path.join(root, 'manifest.json'), canonicalJson(checked.manifest));
    for (const folder of [root, ...folders]) await syncFolder(folder);
    await store(dataFolder, checked.id, root);
    return { ...checked, files: files.size, bytes: sumOf(files) };
  } finally {
    await rm(incoming, { recursive: true, force: true });
  }
}

/**
 * Checks that the files of an archive are those in its manifest, with their hashes.
 *
 * @param read returns the text of a file that was read.
 * @throws {PlatformError} `artifact_invalid`
 */
export async function checkFiles(
  files: ReadonlyMap<string, ReadFile>,
  read: (name: string) => Promise<string>,
  readManifest: typeof checkManifest = checkManifest,
): Promise<{ readonly id: string; readonly manifest: Manifest }> {
  const given = files.get('manifest.json');
  if (given === undefined) throw wrong('it has no manifest.json');
  for (const name of ['manifest.json', 'migrations.json'])
    if ((files.get(name)?.bytes ?? 0) > JSON_BYTES_MAX) throw wrong(`${name} is larger than ${JSON_BYTES_MAX} bytes`);
  const { id, manifest } = readManifest(await read('manifest.json'));
  const expected = filesOf(manifest);
  for (const [name, { hash, bytes }] of expected) {
    const file = files.get(name);
    if (file === undefined) throw wrong(`${shown(name)} is missing`);
    if (file.hash !== hash || (bytes !== null && file.bytes !== bytes))
      throw wrong(`${shown(name)} is not what its manifest says`);
  }
  for (const name of files.keys())
    if (name !== 'manifest.json' && !expected.has(name)) throw wrong(`${shown(name)} is not in its manifest`);
  if (manifest.migrations !== undefined) checkMigrations(await read('migrations.json'), manifest);
  return { id, manifest };
}

async function writeWhole(file: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  try {
    await writeNew(file, content, { mode: 0o644, flush: true });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw invalid(`${shown(path.basename(file))} differs from another file only in case`);
    throw error;
  }
}

async function store(dataFolder: string, id: string, root: string): Promise<void> {
  const artifacts = path.join(dataFolder, 'artifacts');
  const target = path.join(artifacts, id);
  await mkdir(artifacts, { recursive: true, mode: 0o700 });
  try {
    await rename(root, target);
    await syncFolder(artifacts);
  } catch (error) {
    // If the folder exists, the same content was stored before.
    if (!(await exists(target))) throw error;
    // Retention deletes old artifacts, so the artifact counts as new again.
    await utimes(target, new Date(), new Date());
  }
}

async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r');
  await handle.sync();
}

function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}

function sumOf(files: ReadonlyMap<string, ReadFile>): number {
  let bytes = 0;
  for (const file of files.values()) bytes += file.bytes;
  return bytes;
}

function wrong(what: string): PlatformError {
  return archiveError('artifact_invalid', `The artifact cannot be used: ${what}`);
}
