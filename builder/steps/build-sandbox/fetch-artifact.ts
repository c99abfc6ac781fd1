// Downloads the archive of an artifact from a build sandbox: untrusted data, read entry by entry within the limits of
// an artifact, and written into one empty folder. take-artifact.ts then compares the files with the manifest.
import { mkdir, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PlatformError } from '#core/errors.ts';
import type { Failure } from '#core/failure.ts';
import { isArtifactId } from '#core/names.ts';
import { archiveError, isArchiveError } from '#core/archive/archive-error.ts';
import { readArchive } from '#artifacts/archive/read-archive.ts';
import { BLOCK_BYTES } from '#core/archive/tar-header.ts';
import { writeNew } from '#artifacts/archive/write-new.ts';
import { noRoom } from '../disk-watch.ts';
import { buildFailure, type BuildRunLimits } from '../types.ts';
import type { BuildMachine } from './machine.ts';

/** Maximum overhead per file: headers, records and padding. */
const BYTES_BESIDE = 64 * BLOCK_BYTES;
const ROOM_BYTES = 1024 * 1024;

/** All files are regular files: hard links are written as copies. */
const PACK = `
set -e
rm -f artifact.tar
tar -c --format=gnu --hard-dereference --owner=0 --group=0 -f artifact.tar -C "artifact/$1" .`;

/**
 * @param target folder of the builder; the artifact is written to `<target>/<id>`.
 * @throws {Failure} `build`: `artifact_invalid`, `artifact_too_large`, `artifact_too_many_files`, `disk_full`
 */
export async function fetchArtifact(
  machine: Pick<BuildMachine, 'script' | 'read'>,
  id: string,
  target: string,
  limits: Pick<BuildRunLimits, 'artifactBytesMax' | 'artifactFilesMax' | 'diskFreeBytesMin'>,
): Promise<void> {
  if (!isArtifactId(id)) throw buildFailure('artifact_invalid', unusable('its id is not a hash'));
  await machine.script(PACK, id);
  const root = join(target, id);
  await mkdir(root, { recursive: true, mode: 0o700 });
  const { bavail, bsize } = await statfs(target);
  const room = Math.max(0, bavail * bsize - limits.diskFreeBytesMin);
  const stream = await machine.read('artifact.tar');
  try {
    const made = new Set<string>();
    await readArchive(plain(stream, limits, room), limits, async (name, content) => {
      const file = join(root, name);
      const folder = dirname(file);
      if (!made.has(folder)) await mkdir(folder, { recursive: true, mode: 0o700 });
      made.add(folder);
      await writeNew(file, content, { mode: 0o600 });
    });
  } catch (error) {
    if (isArchiveError(error)) throw refusalOf(error);
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE')
      throw new PlatformError('sandbox_lost', { reason: code }, { cause: error });
    if (code === 'ENOSPC') throw noRoom('The archive of a sandbox does not fit');
    if (code === 'EEXIST' || code === 'ENAMETOOLONG' || code === 'ENOTDIR')
      throw buildFailure('artifact_invalid', unusable(`a file of it cannot be written (${code})`));
    throw error;
  } finally {
    stream.destroy();
  }
}

/** Reads the raw bytes: compressed or endless responses are refused. */
async function* plain(
  stream: AsyncIterable<Uint8Array>,
  { artifactBytesMax, artifactFilesMax }: Pick<BuildRunLimits, 'artifactBytesMax' | 'artifactFilesMax'>,
  room: number,
): AsyncGenerator<Uint8Array> {
  const bytesMax = artifactBytesMax + artifactFilesMax * BYTES_BESIDE + ROOM_BYTES;
  let bytes = 0;
  for await (const chunk of stream) {
    if (bytes === 0 && chunk[0] === 0x1f) throw archiveError('archive_invalid', 'its archive is no tar file');
    bytes += chunk.byteLength;
    if (bytes > bytesMax) throw archiveError('artifact_too_large', `its archive has more than ${bytesMax} bytes`);
    if (bytes > room) throw noRoom('The archive of a sandbox does not fit');
    yield chunk;
  }
}

function refusalOf(error: PlatformError): Failure<'build'> {
  const { code, message } = error;
  if (code === 'artifact_too_large' || code === 'artifact_too_many_files')
    return buildFailure(code, message, { cause: error });
  return buildFailure('artifact_invalid', unusable(message), { cause: error });
}

function unusable(what: string): string {
  return `The artifact of the build cannot be used: ${what}`;
}
