// Restores project files from a backup into a bucket, which moves a platform from local files to S3. Called by
// restore.ts.
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { openFilesIndex } from '#runtime/stores/files-disk-index.ts';
import { openFilesS3 } from '#runtime/stores/files-s3.ts';
import { damaged, type Part } from '../archive/manifest.ts';
import type { OpenBackup } from '../archive/reader.ts';
import type { Locations } from '../locations.ts';

const HELD_BYTES_MAX = 256 * 1024 * 1024;

/** @param folder the folder for the index, for as long as the index is read. */
export async function putFiles(
  backup: OpenBackup,
  bucket: NonNullable<Locations['bucket']>,
  folder: string,
  onProgress: (what: string) => void,
): Promise<void> {
  const index = backup.manifest.parts.find(({ kind }) => kind === 'index');
  if (index === undefined) return;
  const contents = new Map<string, Part>();
  for (const part of backup.manifest.parts) if (part.kind === 'content') contents.set(part.name, part);
  const work = await mkdtemp(path.join(folder, 'restore-'));
  const store = openFilesS3({ ...bucket, uploadBytesHeldMax: HELD_BYTES_MAX });
  try {
    const file = path.join(work, 'index.sqlite');
    await pipeline(Readable.from(backup.read(index)), createWriteStream(file, { mode: 0o600 }));
    const open = openFilesIndex(file);
    let done = 0;
    for (const { namespace, resource, key, headers, metadata, digests, contents: names } of open.files()) {
      const parts = names.map(({ name }) => {
        const part = contents.get(name);
        if (part === undefined) throw damaged('a file has no content');
        return part;
      });
      const body = Readable.from(inTurn(backup, parts));
      await store.put({ namespace, resource }, key, body, {
        headers,
        metadata,
        digests,
        onlyIf: null,
        bytesMax: Number.MAX_SAFE_INTEGER,
      });
      onProgress(`Sending files to the bucket: ${++done}`);
    }
    open.close();
  } finally {
    await store.close();
    await rm(work, { recursive: true, force: true });
  }
}

async function* inTurn(backup: OpenBackup, parts: readonly Part[]): AsyncGenerator<Buffer> {
  for (const part of parts) yield* backup.read(part);
}
