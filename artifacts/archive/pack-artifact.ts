// Packs an artifact's folder into one file for its upload: a tar file, compressed with gzip, with reproducible bytes.
// Called by `platform deploy`; receive-artifact.ts unpacks it.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { BLOCK_BYTES, padding, tarHeader } from '#core/archive/tar-header.ts';

/** A packed artifact. */
interface PackedArtifact {
  /** Size of the archive. */
  readonly bytes: number;
  /** SHA-256 of the archive, hex. */
  readonly sha256: string;
  readonly files: number;
}

/**
 * Packs the folder of an artifact, the manifest first.
 *
 * @param target file to write, which must not exist.
 * @example await packArtifact('/srv/data/artifacts/0a1b...', '/tmp/upload.tar.gz')
 */
export async function packArtifact(folder: string, target: string): Promise<PackedArtifact> {
  const names = (await filesBelow(folder, '')).sort();
  const manifestAt = names.indexOf('manifest.json');
  if (manifestAt > 0) names.unshift(...names.splice(manifestAt, 1));
  const hash = createHash('sha256');
  let bytes = 0;
  await pipeline(
    Readable.from(entries(folder, names)),
    createGzip({ level: 6 }),
    async function* (chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    },
    createWriteStream(target, { flags: 'wx', mode: 0o600 }),
  );
  return { bytes, sha256: hash.digest('hex'), files: names.length };
}

async function filesBelow(root: string, folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(path.join(root, folder), { withFileTypes: true })) {
    const name = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory()) names.push(...(await filesBelow(root, name)));
    else if (entry.isFile()) names.push(name);
  }
  return names;
}

async function* entries(folder: string, names: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const name of names) {
    const file = path.join(folder, name);
    const { size } = await lstat(file);
    yield tarHeader(name, size);
    let read = 0;
    for await (const chunk of createReadStream(file)) {
      read += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
    if (read !== size) throw new Error(`${name} changed while it was packed`);
    yield Buffer.alloc(padding(size));
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}
