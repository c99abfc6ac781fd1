// Reads the tar file of an artifact, plain or gzip, entry by entry, from untrusted users. Sizes, paths and the end of
// the archive are not trusted. Called by receive-artifact.ts and the fuzz test; it writes no files.
import { createHash } from 'node:crypto';
import { createGunzip } from 'node:zlib';
import { archiveError, isArchiveError } from '#core/archive/archive-error.ts';
import { BLOCK_BYTES, invalid, longName, padding, parseTarHeader, paxPath, shown } from '#core/archive/tar-header.ts';
import type { PlatformError } from '#core/errors.ts';
import { artifactFolderProblem, artifactPathProblem } from './artifact-path.ts';

/** Limits of an archive's content; the defaults are in core/limits.ts. */
export interface ArchiveLimits {
  /** `BUILD_ARTIFACT_MAX_BYTES`. */
  readonly artifactBytesMax: number;
  /** `BUILD_ARTIFACT_MAX_FILES`. */
  readonly artifactFilesMax: number;
}

/** A file that was read. */
export interface ReadFile {
  readonly bytes: number;
  /** SHA-256, hex. */
  readonly hash: string;
}

/** Stores the content of a file; resolves when it is stored. */
type KeepFile = (path: string, content: AsyncIterable<Uint8Array>) => Promise<void>;

/** Size limit of a record about the next entry. */
export const RECORD_BYTES_MAX = 8192;

/**
 * Reads an archive to its end.
 *
 * @param keep called with one file after the other; it reads each file completely.
 * @returns the files by path.
 * @throws {PlatformError}
 */
export async function readArchive(
  chunks: AsyncIterable<Uint8Array>,
  limits: ArchiveLimits,
  keep: KeepFile,
): Promise<Map<string, ReadFile>> {
  const blocks = new BlockReader(await plain(chunks));
  const files = new Map<string, ReadFile>();
  const folders = new Set<string>();
  let bytes = 0;
  let entries = 0;
  let nextPath: string | null = null;
  for (;;) {
    const block = await blocks.read(BLOCK_BYTES);
    const header = parseTarHeader(block);
    if (header === null) break;
    // Headers without files cost time, too.
    if (++entries > 4 * limits.artifactFilesMax + 1000) throw tooMany(limits);
    if (header.type === 'pax' || header.type === 'longName' || header.type === 'global') {
      if (header.bytes > RECORD_BYTES_MAX) throw invalid(`a name has more than ${RECORD_BYTES_MAX} bytes`);
      const record = Buffer.from(await blocks.read(header.bytes));
      await blocks.read(padding(header.bytes));
      if (header.type === 'longName') nextPath = longName(record);
      else if (header.type === 'pax') nextPath = paxPath(record) ?? nextPath;
      else if (paxPath(record) !== null) throw invalid('a global record sets a path');
      continue;
    }
    const given = nextPath ?? header.path;
    nextPath = null;
    const path = given.replace(/^(?:\.\/)+/, '');
    if (header.type === 'folder') {
      const folder = path.replace(/\/$/, '');
      if (header.bytes !== 0) throw invalid(`the folder ${shown(given)} has content`);
      if (folder === '' || folder === '.') continue;
      const problem = artifactFolderProblem(folder);
      if (problem !== null) throw invalid(`the folder ${shown(given)} ${problem}`);
      if (files.has(folder)) throw invalid(`${shown(given)} is there twice`);
      addFolders(folders, files, `${folder}/`);
      continue;
    }
    const problem = artifactPathProblem(path);
    if (problem !== null) throw invalid(`the file ${shown(given)} ${problem}`);
    if (files.has(path) || folders.has(path)) throw invalid(`${shown(given)} is there twice`);
    addFolders(folders, files, path);
    bytes += header.bytes;
    if (bytes > limits.artifactBytesMax)
      throw archiveError(
        'artifact_too_large',
        `The artifact has ${bytes} bytes or more; BUILD_ARTIFACT_MAX_BYTES allows ${limits.artifactBytesMax}`,
      );
    if (files.size >= limits.artifactFilesMax) throw tooMany(limits);
    const hash = createHash('sha256');
    await keep(path, hashed(blocks.content(header.bytes), hash));
    await blocks.read(padding(header.bytes));
    files.set(path, { bytes: header.bytes, hash: hash.digest('hex') });
  }
  if (nextPath !== null) throw invalid('it ends after a name without its file');
  await blocks.expectZeros();
  return files;
}

function addFolders(folders: Set<string>, files: ReadonlyMap<string, ReadFile>, path: string): void {
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const folder = path.slice(0, at);
    if (files.has(folder)) throw invalid(`${shown(folder)} is a file and a folder`);
    folders.add(folder);
  }
}

function tooMany({ artifactFilesMax }: ArchiveLimits): PlatformError {
  return archiveError(
    'artifact_too_many_files',
    `The artifact has more than ${artifactFilesMax} files, which is what BUILD_ARTIFACT_MAX_FILES allows`,
  );
}

async function* hashed(
  content: AsyncIterable<Uint8Array>,
  hash: { update(chunk: Uint8Array): unknown },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    hash.update(chunk);
    yield chunk;
  }
}

/** Returns the decompressed tar file; gzip is detected by its first bytes, with which none of our tar files begins. */
async function plain(chunks: AsyncIterable<Uint8Array>): Promise<AsyncIterator<Uint8Array>> {
  const source = chunks[Symbol.asyncIterator]();
  let first: Uint8Array = new Uint8Array();
  while (first.length < 2) {
    const { done, value } = await source.next();
    if (done === true) break;
    first = first.length === 0 ? value : Buffer.concat([first, value]);
  }
  async function* all(): AsyncGenerator<Uint8Array> {
    try {
      if (first.length > 0) yield first;
      for (;;) {
        const { done, value } = await source.next();
        if (done === true) return;
        yield value;
      }
    } finally {
      await source.return?.();
    }
  }
  if (first[0] !== 0x1f || first[1] !== 0x8b) return all();
  return unzipped(all());
}

async function* unzipped(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { pipeline, Readable } = await import('node:stream');
  const gunzip = createGunzip();
  // The iteration below throws the errors of both streams.
  pipeline(Readable.from(chunks), gunzip, () => {});
  try {
    for await (const chunk of gunzip) yield chunk as Uint8Array;
  } catch (error) {
    if (isArchiveError(error)) throw error;
    throw invalid(`its compression is damaged (${(error as Error).message})`);
  } finally {
    gunzip.destroy();
  }
}

/** Returns bytes in requested amounts. */
export class BlockReader {
  #chunks: AsyncIterator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterator<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Reads exactly this many bytes; only for small amounts. */
  async read(bytes: number): Promise<Uint8Array> {
    if (bytes === 0) return new Uint8Array();
    const parts: Uint8Array[] = [];
    for (let missing = bytes; missing > 0;) {
      const part = await this.#some(missing);
      parts.push(part);
      missing -= part.length;
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  /** Returns the next bytes as they arrive. */
  async *content(bytes: number): AsyncGenerator<Uint8Array> {
    for (let missing = bytes; missing > 0;) {
      const part = await this.#some(missing);
      missing -= part.length;
      yield part;
    }
  }

  /** Reads to the end, where only zeros may be left. */
  async expectZeros(): Promise<void> {
    for (;;) {
      if (this.#rest.some((byte) => byte !== 0)) throw invalid('there is data after its end');
      const { done, value } = await this.#chunks.next();
      if (done === true) return;
      this.#rest = value;
    }
  }

  async #some(most: number): Promise<Uint8Array> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#chunks.next();
      if (done === true) throw invalid('it is truncated');
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, most);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }
}
